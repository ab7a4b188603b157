"""Texts made comparable (`normalise`) and cut into the tokens that are indexed and asked for (`tokens`)."""

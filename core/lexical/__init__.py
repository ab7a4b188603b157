"""The lexical index: BM25 over tokens, with scopes. `index.py` is the seam, `committer.py` says when to commit."""

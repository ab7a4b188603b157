"""What was said, from the bridge's telling to a draft in the private inbox.

intake.py   keeps what a bridge tells
claims.py   gives a digest worker its next batch, and takes back a draft or the batch
review.py   the owner's decisions on a draft: edit, publish, discard, undo
"""

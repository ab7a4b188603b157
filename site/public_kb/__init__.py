"""What readers can find and ask: published articles only, never the journal, never anything said in a chat.

chunks.py     an article cut into passages with block ids
knowledge.py  the index over them, kept in step with what is published
ranking.py    from scored passages to articles, and the floor below which nothing was found (pure)
excerpts.py   marks in results, and the sentences that answer best (pure)
selection.py  a selected text, checked against the article and replaced by our copy (pure)
citations.py  a model's answer with its [n] checked against the sources offered (pure)
sources.py    what an answer rests on, and as much of it as fits into the model's context (pure)
reader_model.py  one call for one reader: money held, asked once, settled
asking.py     a question from the reader to the answer
"""

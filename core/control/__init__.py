"""The control API between bridge, digest and site: its messages, how a request is signed, and the client."""

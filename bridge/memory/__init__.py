"""What the persona may know when it answers. Raw messages are the only truth; all here is derived from them."""

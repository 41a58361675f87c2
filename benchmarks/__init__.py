"""Speed, bytes and memory: figures are kept in results/ with the machine's description, and docs/ shows them."""

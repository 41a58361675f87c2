"""Speed, bytes and memory, measured beside what we compare ourselves with; each file is one command."""

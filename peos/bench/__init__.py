"""What `peos bench` measures on this machine: one file a measurement; `machine` is what all of them say of it."""

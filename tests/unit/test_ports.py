"""The ports that clusters of one machine draw: never the same twice, and apart from those of processes next to it."""

import os

from peos.localcluster import PORTS, free_port

NEIGHBOURS = 16  # processes whose numbers follow one another


def test_ports_are_drawn_once_and_of_other_lanes_than_those_of_neighbours() -> None:
    drawn = [free_port() for _ in range(100)]
    assert len(set(drawn)) == len(drawn)
    assert all(PORTS[0] <= port < PORTS[1] for port in drawn)
    assert {(port - PORTS[0] - os.getpid()) % NEIGHBOURS for port in drawn} == {0}

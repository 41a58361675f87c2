"""[compute] of a configuration: three engines, and a cluster only with all that it needs."""

from pathlib import Path

import pytest

from peos.compute import PROCESSES, Choice, Inline, Tls, engine
from peos.configuration import COMPUTE, compute
from peos.settings import read
from tests.raising import raises

TLS = 'scheduler = "tls://cluster:8786"\nauthority = "a.pem"\ncertificate = "/c.pem"\nkey = "k"\n'


def chosen(folder: Path, text: str) -> Choice:
    path = folder / "some.toml"
    path.write_text(text, encoding="utf-8")
    return compute(read(path, COMPUTE))


def test_without_a_word_it_is_processes(tmp_path: Path) -> None:
    assert chosen(tmp_path, "") == PROCESSES == Choice("processes")
    assert chosen(tmp_path, '[compute]\nengine = "processes"\n') == PROCESSES


def test_inline_is_inline_whatever_the_workers(tmp_path: Path) -> None:
    assert isinstance(engine(2, chosen(tmp_path, '[compute]\nengine = "inline"\n')), Inline)


def test_a_cluster_has_an_address_and_its_files_beside_the_configuration(tmp_path: Path) -> None:
    assert chosen(tmp_path, f'[compute]\nengine = "dask"\n{TLS}') == Choice(
        "dask", "tls://cluster:8786", Tls(tmp_path / "a.pem", Path("/c.pem"), tmp_path / "k")
    )
    here = chosen(tmp_path, '[compute]\nengine = "dask"\nscheduler = "tcp://127.0.0.1:8786"\n')
    assert here == Choice("dask", "tcp://127.0.0.1:8786")


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ('engine = "spark"', ("config.value", "compute.engine", "'spark'")),
        ('engine = "dask"', ("config.scheduler",)),
        ('scheduler = "tls://cluster:8786"', ("config.engine",)),
        (f'engine = "inline"\n{TLS}', ("config.engine",)),
        ('engine = "dask"\nscheduler = "tls://c:1"\nkey = "k"', ("config.certificates",)),
        ('engine = "dask"\nscheduler = "tls://c:1"', ("compute.certificates", "some.toml", "tls://c:1")),
        ('engine = "dask"\nscheduler = "tcp://c:1"', ("compute.no_tls", "tcp://c:1")),
        ('engine = "dask"\nsheduler = "tcp://c:1"', ("config.unknown_key", "compute.sheduler")),
    ],
)
def test_what_is_wrong_is_said_with_its_file(tmp_path: Path, text: str, mistake: tuple[str, ...]) -> None:
    with raises(*mistake, str(tmp_path)):
        chosen(tmp_path, f"[compute]\n{text}\n")

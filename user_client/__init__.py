"""The user's side: check what is asked, randomise once, remember, and send the same bytes until all have them.

with Client(read(Path("client.toml"))) as client:
    collection = client.open(Path("question.invitation").read_bytes())
    result = collection.submit(17, ticket)
    result.accepted

config     client.toml: whom she trusts to shuffle, and her limits
memory     what she has randomised and spent, durably
submitter  one report a user and question, kept before it is sent, and sent until all have it
client     the three calls
entries    tickets and values as files
cli        the command line
"""

from user_client.client import Client, Collection
from user_client.config import Config, read
from user_client.results import Result

__all__ = ["Client", "Collection", "Config", "Result", "read"]

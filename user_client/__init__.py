"""The user's side: check what is asked, randomise once, remember, and send the same bytes until all have them.

with Client(read(Path("client.toml"))) as client:
    collection = client.open(Path("question.invitation").read_bytes())
    result = collection.submit(17, ticket)
    result.accepted

config       client.toml: which shufflers she trusts, and her limits
store        what she has randomised and spent, durably
submitter    one report a user and question, kept before it is sent, and sent until all have it
proofs       whether a report was counted
client       the calls
input_files  tickets and values as files
cli          the command line
"""

from user_client.client import Client, Collection
from user_client.config import Config, read
from user_client.results import Result

__all__ = ["Client", "Collection", "Config", "Result", "read"]

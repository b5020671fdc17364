"""A local server that speaks as much of the hub's protocol as making and filling a Space needs.

    with FakeSpaces() as hub:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)

It knows one user, by one token. A file ending in `.db` goes by LFS, as the hub wants of what is no
text. What breaks, breaks where `breaks` says: the connection ends without an answer.
"""

import base64
import hashlib
import json
import re
from urllib.parse import unquote, urlsplit

import yaml

from tests.fakes.server import FakeServer, Handler

USER, TOKEN, READER = "ada", "hf_" + "x" * 34, "hf_" + "r" * 34
"""Of the one user: a token that may write, and one that may read."""
TOO_LONG = {"message": '"short_description" length must be at most 60 characters long'}
FREE = "Static Spaces are free for everyone, but hosting Gradio and Docker Spaces requires PRO."


class FakeSpaces(FakeServer):
    """Answers until the `with` block ends.

    Attributes:
        url: what the endpoint must be.
        spaces: `OWNER/NAME` -> path -> content.
        created: what was asked for at each creation.
        paid: whether the user may host what is not static.
        breaks: path of a request that gets no answer, as a pattern.
        requests: `METHOD path` of all, in order.
    """

    def __init__(self) -> None:
        self.spaces: dict[str, dict[str, bytes]] = {}
        self.created = []
        self.paid = True
        self.breaks: str | None = None
        self.requests: list[str] = []
        self.objects: dict[str, bytes] = {}
        super().__init__(_Handler)


class _Handler(Handler[FakeSpaces]):
    def do_GET(self) -> None:
        hub, path = self.fake, unquote(urlsplit(self.path).path)
        body = self.read()
        hub.requests.append(f"{self.command} {path}")
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if hub.breaks and re.search(hub.breaks, path):
            self.close_connection = True
        elif path.startswith("/objects/"):
            hub.objects[path.removeprefix("/objects/")] = body
            self.send_json({})
        elif token not in (TOKEN, READER):
            self._error(401, "Invalid username or password.")
        elif path == "/api/validate-yaml":
            front_matter = yaml.safe_load(json.loads(body)["content"].split("---\n")[1])
            faults = [TOO_LONG] if len(front_matter["short_description"]) > 60 else []
            self.send_json({"errors": faults, "warnings": []}, 400 if faults else 200)
        elif path == "/api/whoami-v2":
            self.send_json({"name": USER, "type": "user", "orgs": []})
        elif token == READER and self.command == "POST":
            self._error(403, "You don't have the rights to create a space under this namespace.")
        elif path == "/api/repos/create":
            self._create(json.loads(body))
        else:
            self._of_a_space(path, body)

    do_HEAD = do_POST = do_PUT = do_GET

    def _create(self, asked: dict) -> None:
        hub = self.fake
        name = f"{asked['organization']}/{asked['name']}"
        if asked["organization"] != USER:
            self._error(403, "You don't have the rights to create a space under this namespace.")
        elif not hub.paid and asked["sdk"] != "static" and asked.get("hardware") != "zero-a10g":
            self._error(402, FREE)
        elif name in hub.spaces:
            self._error(409, "You already created this space repo")
        else:
            hub.created.append(asked)
            hub.spaces[name] = {".gitattributes": b"", "README.md": b"---\nsdk: static\n---\n"}
            self.send_json({"url": f"{hub.url}/spaces/{name}"})

    def _of_a_space(self, path: str, body: bytes) -> None:
        found = re.fullmatch(r"(?:/api)?/spaces/([^/]+/[^/]+?)(\.git)?/(.*)", path)
        files = self.fake.spaces[found[1]]
        if found[3].startswith("tree/"):
            sizes = [{"path": name, "size": len(data)} for name, data in files.items()]
            self.send_json([one | {"type": "file", "oid": "0" * 40} for one in sizes])
        elif found[3].startswith("preupload/"):
            self.send_json(
                {
                    "files": [
                        {
                            "path": one["path"],
                            "shouldIgnore": False,
                            "uploadMode": "lfs" if one["path"].endswith(".db") else "regular",
                        }
                        for one in json.loads(body)["files"]
                    ]
                }
            )
        elif found[3] == "info/lfs/objects/batch":
            place = f"{self.fake.url}/objects/"
            objects = [
                one | {"authenticated": True, "actions": {"upload": {"href": place + one["oid"]}}}
                for one in json.loads(body)["objects"]
            ]
            self.send_json({"transfer": "basic", "objects": objects})
        elif found[3].startswith("commit/"):
            self._commit(found[1], [json.loads(line) for line in body.splitlines()])
        else:
            data = files[found[3].removeprefix("resolve/main/")]
            tag = hashlib.sha256(data).hexdigest()
            self.send(200, data, ETag=f'"{tag}"', X_Repo_Commit="0" * 40)

    def _commit(self, space: str, lines: list[dict]) -> None:
        """All of it or nothing, as the hub has it."""
        hub = self.fake
        after = dict(hub.spaces[space])
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                after[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                after[value["path"]] = hub.objects[value["oid"]]
            elif line["key"] == "deletedFile":
                del after[value["path"]]
        hub.spaces[space] = after
        self.send_json({"commitUrl": f"{hub.url}/spaces/{space}/commit/0", "commitOid": "0" * 40})

    def _error(self, status: int, message: str) -> None:
        self.send_json({"error": message}, status)

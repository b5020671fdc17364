"""A local server that speaks as much of S3's protocol as files in a bucket need.

Objects are files in `root/BUCKET/KEY`. Anyone who signs is let in but to the buckets in `closed`.

    with FakeBucket(root) as s3:
        subprocess.run(..., env={**os.environ, **s3.environment})
"""

from email.utils import formatdate
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.fakes.server import FakeServer, Handler

XML = {"Content_Type": "application/xml"}
KEY = "lab"
SIGNED = f"AWS4-HMAC-SHA256 Credential={KEY}/"


class FakeBucket(FakeServer):
    """Serves a folder until the `with` block ends.

    Attributes:
        closed: buckets that nobody may use.
        environment: environment variables for a process that shall use this server.
    """

    def __init__(self, root: Path, host: str = "127.0.0.1") -> None:
        self.root = root
        self.closed: set[str] = set()
        super().__init__(_Handler, host)
        self.environment = {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": host,
        }


class _Handler(Handler[FakeBucket]):
    """PUT of buckets and objects, HEAD, GET and DELETE of objects, and lists of both."""

    def do_PUT(self) -> None:
        """Make a bucket, or store an object, which may be a copy of another."""
        body, (bucket, key) = self.read(), self._place()
        place = self.fake.root / bucket / key
        source = unquote(self.headers.get("x-amz-copy-source", ""))
        if not self._let_in(bucket):
            return
        if key and not (self.fake.root / bucket).is_dir():
            self._refuse(404, "NoSuchBucket")
        elif source and not (self.fake.root / source).is_file():
            self._refuse(404, "NoSuchKey")
        else:
            (place.parent if key else place).mkdir(parents=True, exist_ok=True)
            if key:
                place.write_bytes((self.fake.root / source).read_bytes() if source else body)
            told = "<CopyObjectResult><ETag>0</ETag></CopyObjectResult>" if source else ""
            self.send(200, told.encode(), ETag='"0"', **XML)

    def do_DELETE(self) -> None:
        """Delete an object."""
        bucket, key = self._place()
        if self._let_in(bucket):
            (self.fake.root / bucket / key).unlink(missing_ok=True)
            self.send(204, b"")

    def do_GET(self) -> None:
        """Send an object, or list the keys below a prefix."""
        bucket, key = self._place()
        if not self._let_in(bucket):
            return
        place = self.fake.root / bucket / key
        if key and place.is_file():
            written = formatdate(place.stat().st_mtime, usegmt=True)
            self.send(200, place.read_bytes(), ETag='"0"', Last_Modified=written)
        elif key or not bucket or not place.is_dir():
            self._refuse(404, "NoSuchKey" if key else "NoSuchBucket")
        else:
            self._list(place)

    do_HEAD = do_GET

    def _list(self, bucket: Path) -> None:
        """Without folders: those that write ask only whether there is something."""
        prefix = parse_qs(urlsplit(self.path).query).get("prefix", [""])[0]
        keys = sorted(
            file.relative_to(bucket).as_posix() for file in bucket.rglob("*") if file.is_file()
        )
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{(bucket / key).stat().st_size}</Size>"
            "<ETag>0</ETag><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>"
            for key in keys
            if key.startswith(prefix)
        )
        told = f"<Name>{bucket.name}</Name><IsTruncated>false</IsTruncated>{rows}"
        self.send(200, f"<ListBucketResult>{told}</ListBucketResult>".encode(), **XML)

    def _place(self) -> tuple[str, str]:
        """The bucket and the key that a request names."""
        bucket, _, key = unquote(urlsplit(self.path).path).strip("/").partition("/")
        return bucket, key

    def _let_in(self, bucket: str) -> bool:
        signed = self.headers.get("Authorization", "").startswith(SIGNED)
        if signed and bucket not in self.fake.closed:
            return True
        self._refuse(403, "AccessDenied")
        return False

    def _refuse(self, status: int, code: str) -> None:
        told = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>"
        self.send(status, told.encode(), **XML)

"""A real Synapse on loopback for the tests, from an environment of its own (`make test` sets it up in .run/synapse).

It is a tool of the tests only, never a dependency of the program. Started once for a session, stopped by its pid.
"""

import hashlib
import hmac
import json
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from tests.installation import free_port

PYTHON = Path(__file__).parents[1] / ".run" / "synapse" / "bin" / "python"
START_WAIT_S = 60
SECRET = "tests-only"
MANY = "{per_second: 1000, burst_count: 1000}"

CONFIG = """
server_name: localhost
public_baseurl: "http://127.0.0.1:PORT/"
listeners:
  - {port: PORT, bind_addresses: ["127.0.0.1"], type: http, tls: false, x_forwarded: false,
     resources: [{names: [client], compress: false}]}
database: {name: sqlite3, args: {database: DATA/homeserver.db}}
log_config: DATA/localhost.log.config
media_store_path: DATA/media_store
signing_key_path: DATA/localhost.signing.key
registration_shared_secret: SECRET
macaroon_secret_key: tests-only
form_secret: tests-only
bcrypt_rounds: 4
enable_registration: false
report_stats: false
trusted_key_servers: []
suppress_key_server_warning: true
federation_domain_whitelist: []
send_federation: false
url_preview_enabled: false
presence: {enabled: false}
rc_message: MANY
rc_login: {address: MANY, account: MANY, failed_attempts: MANY}
rc_joins: {local: MANY, remote: MANY}
rc_joins_per_room: MANY
rc_invites: {per_room: MANY, per_user: MANY, per_issuer: MANY}
rc_registration: MANY
"""


@dataclass(frozen=True)
class User:
    """A signed-in account and what it can do; plain and blocking, the people of a test."""

    base_url: str
    id: str
    device: str
    token: str

    def call(self, method: str, path: str, body: object = None) -> dict[str, object]:
        response = httpx.request(
            method,
            f"{self.base_url}/_matrix/client/v3{path}",
            json=body,
            headers={"Authorization": f"Bearer {self.token}"},
            trust_env=False,
            verify=False,  # reading the certificates takes longer than the call
            timeout=30,
        )
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        found: dict[str, object] = response.json()
        return found

    def make_room(self, *invited: "User", encrypted: bool = False) -> str:
        state = [{"type": "m.room.encryption", "state_key": "", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}]
        wish = {"invite": [user.id for user in invited], "initial_state": state if encrypted else []}
        return str(self.call("POST", "/createRoom", wish)["room_id"])

    def join(self, room: str) -> None:
        self.call("POST", f"/rooms/{room}/join", {})

    def say(self, room: str, text: str, **content: object) -> str:
        return self.put(room, "m.room.message", {"msgtype": "m.text", "body": text, **content})

    def put(self, room: str, kind: str, content: object, transaction: str = "") -> str:
        answer = self.call("PUT", f"/rooms/{room}/send/{kind}/{transaction or uuid.uuid4().hex}", content)
        return str(answer["event_id"])

    def redact(self, room: str, event: str) -> None:
        self.call("PUT", f"/rooms/{room}/redact/{event}/{uuid.uuid4().hex}", {})

    def heard(self, room: str, sender: "User") -> list[str]:
        """What somebody has said in a room, oldest first."""
        said: list[str] = []
        place = ""
        while True:
            page = self.call("GET", f"/rooms/{room}/messages?dir=b&limit=500{place}")
            chunk = page["chunk"]
            assert isinstance(chunk, list)
            ours = [one for one in chunk if one["type"] == "m.room.message" and one["sender"] == sender.id]
            said += [event["content"]["body"] for event in ours]
            if not chunk or "end" not in page:
                return said[::-1]
            place = f"&from={page['end']}"


class Synapse:
    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        assert PYTHON.exists(), f"{PYTHON} is missing: `make test` sets Synapse up"
        server = [str(PYTHON), "-m", "synapse.app.homeserver"]
        made = ["--server-name", "localhost", "--config-path", "made.yaml", "--generate-config", "--report-stats=no"]
        subprocess.run(
            [*server, *made, "--data-directory", str(self._folder)], cwd=self._folder, check=True, capture_output=True
        )
        config = CONFIG.replace("PORT", str(self._port)).replace("DATA", str(self._folder))
        (self._folder / "lab.yaml").write_text(config.replace("MANY", MANY).replace("SECRET", SECRET))
        with (self._folder / "synapse.out").open("wb") as out:
            self._process = subprocess.Popen(
                [*server, "-c", "lab.yaml"], cwd=self._folder, stdout=out, stderr=out, start_new_session=True
            )
        self._wait_ready()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    def _wait_ready(self) -> None:
        end = time.monotonic() + START_WAIT_S
        while time.monotonic() < end:
            assert self._process is not None and self._process.poll() is None, (
                self._folder / "synapse.out"
            ).read_text()
            try:
                if httpx.get(f"{self.base_url}/health", trust_env=False, verify=False, timeout=2).is_success:
                    return
            except httpx.HTTPError:
                time.sleep(0.1)
        raise AssertionError(f"Synapse is not ready after {START_WAIT_S} s")

    def new_user(self, name: str) -> User:
        """An account that did not exist before; `name` begins its id."""
        url = f"{self.base_url}/_synapse/admin/v1/register"
        nonce = httpx.get(url, trust_env=False, verify=False, timeout=10).json()["nonce"]
        user = f"{name}-{uuid.uuid4().hex[:8]}"
        mac = hmac.new(SECRET.encode(), f"{nonce}\0{user}\0pw\0notadmin".encode(), hashlib.sha1).hexdigest()
        wish = {"nonce": nonce, "username": user, "password": "pw", "mac": mac, "admin": False}
        made = httpx.post(url, content=json.dumps(wish), trust_env=False, verify=False, timeout=10).json()
        return User(self.base_url, made["user_id"], made["device_id"], made["access_token"])

"""The photo album on three devices, each a process of its own: messages over UDP, one device goes offline."""

import json
import socket
import subprocess
import sys
import threading
from tempfile import TemporaryDirectory

NAMES = ("laptop", "phone", "tablet")
MICROCOSM = (sys.executable, "-m", "microcosm", "replica")


class Air:
    """What lies between the devices: a socket for each. What comes from or goes to one offline is lost."""

    def __init__(self) -> None:
        self.sockets = {name: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for name in NAMES}
        self.devices: dict[str, tuple[str, int]] = {}
        self.offline: set[str] = set()
        for name, end in self.sockets.items():
            end.bind(("127.0.0.1", 0))
            threading.Thread(target=self.carry, args=(name, end), daemon=True).start()

    def carry(self, to: str, end: socket.socket) -> None:
        while True:
            packet, source = end.recvfrom(65536)
            lost = {self.devices.get(name) for name in self.offline}
            if to in self.devices and not lost & {source, self.devices[to]}:
                end.sendto(packet, self.devices[to])


class Device:
    """`microcosm replica serve`, spoken to by lines of JSON."""

    def __init__(self, name: str, air: Air, folder: str) -> None:
        others = [f"--member={o}=127.0.0.1:{d.getsockname()[1]}" for o, d in air.sockets.items() if o != name]
        keys = ("--keys", "album.keys", "--every", "0.1")
        command = (*MICROCOSM, "serve", f"{name}.journal", "--name", name, *keys, *others)
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, text=True)
        self.delivered: list[str] = []

    def read(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.process.stdout.readline())
        if found.get("event") == "delivered":
            self.delivered.append(str(found["payload"]))
        return found

    def ask(self, do: str, **what: object) -> dict[str, object]:
        self.process.stdin.write(json.dumps({"do": do, "id": 1, **what}) + "\n")
        self.process.stdin.flush()
        while "re" not in (answer := self.read()):
            pass
        return answer

    def wait_for(self, message: str) -> None:
        while message not in self.delivered:
            self.read()

    def verdict(self, left: str, right: str) -> object:
        return self.ask("query", left=left, right=right)["verdict"] or "silent"


def level(*devices: Device) -> bool:
    """Ask until all of them know the same."""
    while len({str(device.ask("digest")["digest"]) for device in devices}) > 1:
        pass
    return True


with TemporaryDirectory() as folder:
    subprocess.run([*MICROCOSM, "key", "new", "album.keys"], cwd=folder, check=True, capture_output=True)
    air = Air()
    laptop, phone, tablet = devices = [Device(name, air, folder) for name in NAMES]
    for name, device in zip(NAMES, devices, strict=True):
        host, _, port = str(device.read()["address"]).rpartition(":")
        air.devices[name] = (host, int(port))

    # Alice takes Eve off the readers at the laptop, and tells the tablet, where Bob likes a photo then.
    laptop.ask("local", event="open")
    laptop.ask("local", event="unshare")
    laptop.ask("send", to=["tablet", "phone"], payload="new readers")
    tablet.wait_for("new readers")
    tablet.ask("local", event="like")
    phone.wait_for("new readers")
    level(*devices)
    print("the tablet:", "unshare", tablet.verdict("unshare", "like"), "like")

    # The phone goes offline. The others go on, and so does the phone.
    air.offline.add("phone")
    laptop.ask("local", event="upload")
    laptop.ask("send", to=["tablet", "phone"], payload="a new photo")
    tablet.wait_for("a new photo")
    tablet.ask("local", event="notify")
    phone.ask("local", event="view")
    phone.ask("learn", given="view || refresh")
    phone.ask("learn", given="like < refresh")
    print("offline, the phone asks:", "like", phone.verdict("like", "view"), "view")
    refuted = phone.ask("query", left="view", right="like", offline=True)["refuted"]
    print("  and rules out of view, like:", *refuted)
    print("the laptop waits for:", *{each["on"] for each in laptop.ask("status")["waiting"]})

    # It comes back: what it missed is delivered, and all three know the same.
    phone.ask("when", left="upload", right="notify")
    air.offline.clear()
    phone.wait_for("a new photo")
    print("the phone got:", ", ".join(phone.delivered))
    print("the same everywhere:", level(*devices))
    print("the phone:", "unshare", phone.verdict("unshare", "notify"), "notify")
    print("the laptop:", "view", laptop.verdict("view", "refresh"), "refresh")
    for device in devices:
        device.process.terminate()
    print("they end with", *(device.process.wait() for device in devices))

# It prints:
#   the tablet: unshare < like
#   offline, the phone asks: like silent view
#     and rules out of view, like: <
#   the laptop waits for: phone
#   the phone got: new readers, a new photo
#   the same everywhere: True
#   the phone: unshare < notify
#   the laptop: view || refresh
#   they end with 0 0 0

"""What W7 is made of: log sources with their fields, and pools of words, paths and switches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from benchmarks.detection_model import Source

COMMON = """EventID:number RecordNumber:number Level:number Computer:host UtcTime:time User:user
ProcessId:digits ProcessGuid:guid Channel:word Provider:word LogonId:digits Task:word"""
PROCESS = """Image:image CommandLine:command OriginalFileName:file ParentImage:image
ParentCommandLine:command CurrentDirectory:folder Company:word Product:word Description:words
FileVersion:word Hashes:hashes ParentUser:user ParentProcessId:digits ParentProcessGuid:guid
IntegrityLevel:word TerminalSessionId:number"""
SIGNED = "Signed:word Signature:words SignatureStatus:word"
UNIX = """Tty:word Uid:number Gid:number Euid:number Exe:image Cwd:folder Session:number
SecurityContext:words"""
NETWORK = """DestinationIp:ip SourceIp:ip DestinationPort:number SourcePort:number
DestinationHostname:domain SourceHostname:host Protocol:word Initiated:word"""
OWN = {
    "creation": f"""{SIGNED} GrandparentImage:image ElevationType:word ZoneId:number
        ImageSize:number""",
    "linux": f"{UNIX} ContainerId:hex ContainerName:word",
    "macos": f"{UNIX} BundleId:word TeamId:word",
    "registry": """TargetObject:registry Details:words EventType:word NewName:registry
        ValueType:word OldDetails:words""",
    "file": """TargetFilename:path CreationUtcTime:time FileExtension:word FileMagic:word
        FileSize:number FileOwner:user""",
    "load": f"ImageLoaded:path {SIGNED} BaseAddress:hex LoadedVersion:word",
    "network": NETWORK,
    "script": """ScriptBlockText:script ScriptBlockId:guid Path:path MessageNumber:number
        MessageTotal:number HostApplication:command EngineVersion:word RunspaceId:guid""",
    "security": """SubjectUserName:user TargetUserName:user LogonType:digits IpAddress:ip
        WorkstationName:host AccessMask:hex ObjectName:registry ShareName:path Status:hex
        TicketOptions:hex""",
    "system": """ServiceName:word ImagePath:path ServiceType:word StartType:digits
        AccountName:user Param1:words""",
    "cloud": f"""{NETWORK} ServiceName:word AccountName:user Status:hex eventSource:domain
        eventName:word userAgent:words awsRegion:word requestParameters:words
        responseElements:words errorCode:word accessKeyId:hex arn:path bucketName:word
        roleName:word readOnly:word""",
    "proxy": f"""{NETWORK} c-uri:url c-uri-query:words c-useragent:words cs-host:domain
        cs-method:word cs-referrer:url cs-cookie:words sc-status:number sc-bytes:number
        cs-bytes:number cs-username:user rs-content-type:word x-category:word x-risk:digits""",
}  # fmt: skip


def _fields(*lists: str) -> dict[str, str]:
    pairs = (each.split(":") for each in " ".join(lists).split())
    return {name: kind for name, kind in pairs}  # noqa: C416  # the pairs are lists


def _source(names: str, own: str, rules: float, events: float) -> Source:
    product, category, service = names.split("/")
    process = "" if own in ("cloud", "proxy") else PROCESS
    return Source(
        product, category, service, rules, events, _fields(COMMON, process, OWN[own])
    )  # fmt: skip


SOURCES = [
    _source("windows/process_creation/", "creation", 0.29, 0.32),
    _source("linux/process_creation/", "linux", 0.05, 0.05),
    _source("macos/process_creation/", "macos", 0.03, 0.03),
    _source("windows/registry_set/", "registry", 0.11, 0.12),
    _source("windows/file_event/", "file", 0.10, 0.10),
    _source("windows/image_load/", "load", 0.07, 0.10),
    _source("windows/network_connection/", "network", 0.05, 0.09),
    _source("windows/ps_script/", "script", 0.08, 0.03),
    _source("windows//security", "security", 0.08, 0.08),
    _source("windows//system", "system", 0.05, 0.03),
    _source("aws//cloudtrail", "cloud", 0.05, 0.02),
    _source("/proxy/", "proxy", 0.04, 0.03),
]
"""12 combinations; three of them, 37 % of the rules and 40 % of the events, create processes."""
FIELDS = {name: kind for source in SOURCES for name, kind in source.fields.items()}
"""All 120 fields, each of one kind in all sources."""

WORDS, PATHS, NUMBERS = 3_000, 1_500, 400
FOREIGN = "éüßñøåçЖщдлσΣς日本語ğÉÜÑ"
SYLLABLES = """ba co de fi ga he in jo ku la me no op pa qui re sa te ul ve wi xa yo zu ter mon
shell net con ser win get set load reg run exe min vol log adm key""".split()
WINDOWS = [
    r"C:\Windows\System32", r"C:\Windows\SysWOW64", r"C:\Windows", r"C:\Program Files\{}",
    r"C:\Program Files (x86)\{}", r"C:\Users\{}\AppData\Local\Temp", r"C:\ProgramData\{}",
    r"C:\Users\{}\Downloads", r"D:\{}\bin",
]  # fmt: skip
UNIXES = ["/bin", "/usr/bin", "/usr/sbin", "/opt/{}/bin", "/home/{}", "/tmp", "/usr/local/bin"]


class Letters:
    """Random lower-case letters, drawn a million at a time: a draw for each word takes longer."""

    def __init__(self, rng: Generator) -> None:
        self._rng, self._text, self._at = rng, "", 0

    def take(self, count: int) -> str:
        """The next letters."""
        if self._at + count > len(self._text):
            drawn = self._rng.integers(ord("a"), ord("z") + 1, 1_000_000, np.uint8)
            self._text, self._at = drawn.tobytes().decode(), 0
        self._at += count
        return self._text[self._at - count : self._at]


@dataclass
class Pools:
    """What events are made of, and rules that are to find something without being planted."""

    rng: Generator

    def __post_init__(self) -> None:
        self.names: list[str] = [self._word() for _ in range(900)]
        spoken = [self._word() for _ in range(WORDS - 1_000)]
        switches = [("-", "/", "--")[n % 3] + self._word() for n in range(600)]
        self.paths = [*self._paths(WINDOWS, "\\", ".exe", 1_100)]
        self.paths += self._paths(UNIXES, "/", "", PATHS - 1_100)
        places = [self.paths[n] for n in self.rng.integers(0, PATHS, 400)]
        self.words: list[str] = [*spoken, *switches, *places]
        self.rng.shuffle(self.words)

    def _word(self) -> str:
        parts = [
            SYLLABLES[n] for n in self.rng.integers(0, len(SYLLABLES), self.rng.integers(2, 5))
        ]
        word, dice = "".join(parts), self.rng.random()
        if dice < 0.04:
            at = int(self.rng.integers(0, len(word)))
            word = word[:at] + FOREIGN[int(self.rng.integers(0, len(FOREIGN)))] + word[at + 1 :]
        return word.upper() if dice > 0.95 else word.capitalize() if dice > 0.6 else word

    def _paths(self, folders: list[str], slash: str, suffix: str, count: int) -> list[str]:
        pick = self.rng.integers(0, len(folders), count)
        name = self.rng.integers(0, len(self.names), (count, 2))
        folder = [folders[p].format(self.names[n]) for p, n in zip(pick, name[:, 0])]
        return [f"{f}{slash}{self.names[n]}{suffix}" for f, n in zip(folder, name[:, 1])]

    @cached_property
    def windows(self) -> list[str]:
        """Paths with backslashes."""
        return [path for path in self.paths if "\\" in path]

    @cached_property
    def unix(self) -> list[str]:
        """Paths with slashes."""
        return [path for path in self.paths if "\\" not in path]

    def images(self, source: Source) -> list[str]:
        """The programs of a source."""
        return self.unix if source.is_unix else self.windows


def zipf(rng: Generator, size: int, count: int) -> list[int]:
    """Indices below ``size``, the first ones more often."""
    drawn = np.exp(rng.random(count) * np.log(size + 1)) - 1
    return [int(each) for each in np.minimum(drawn, size - 1).tolist()]

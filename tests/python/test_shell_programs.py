"""Real programs of Debian on the network of `fairway shell`: ssh, QUIC, a browser."""

from __future__ import annotations

import filecmp
import json
import re
import subprocess

from test_shell import CLEAN, FRAME, LOSSY, PAYLOAD, kernel, needs, shell

__all__ = ["kernel", "shell"]  # fixtures

#: What a browser is told to run in one process, without graphics.
BROWSER = (
    "--headless=old", "--no-sandbox", "--single-process", "--no-zygote", "--disable-gpu",
    "--user-data-dir=/tmp/browser",
)  # fmt: skip


def test_ssh_carries_a_file_and_repeats(shell, tmp_path):
    needs("ssh", "sshd", "ssh-keygen")
    for name in ("host", "user"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)]
        subprocess.run(words, check=True)
    (tmp_path / "sshd_config").write_text(
        f"HostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/user.pub\n"
        "UsePAM no\nStrictModes no\nPidFile none\nPermitRootLogin yes\nUseDNS no\n"
    )
    server = f"mkdir -p /run/sshd && exec /usr/sbin/sshd -D -f {tmp_path}/sshd_config"
    client = (
        f"ssh -F none -i {tmp_path}/user -o IdentitiesOnly=yes -o StrictHostKeyChecking=no"
        " -o UserKnownHostsFile=/dev/null root@d0 'hostname; head -c 1000000 /dev/zero' | wc -c"
    )

    def fetch(out):
        done = shell(
            CLEAN, "--alone", "--out", out, "--capture", "hosts",
            "--background", f"d0: sh -c '{server}'", "--", "sh", "-c", client,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, b"1000003\n"), done.stderr
        return json.loads((tmp_path / out / "summary.json").read_text())

    first, second = fetch("one"), fetch("two")
    assert first["ended_s"] == second["ended_s"]
    # Its handshake and login take ten round trips or so of 100 ms, slow start some more.
    assert 1 + 1e6 / PAYLOAD * FRAME * 8 / 20e6 < first["ended_s"] < 4
    captures = [tmp_path / out / "captures" for out in ("one", "two")]
    names = sorted(path.name for path in captures[0].iterdir())
    match, mismatch, errors = filecmp.cmpfiles(*captures, names, shallow=False)
    assert (len(match), mismatch, errors) == (2, [], [])


def test_a_file_comes_over_quic_in_spite_of_losses(shell, tmp_path):
    needs("gtlsclient", "gtlsserver", "openssl")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "3650", "-subj", "/CN=s0"],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    content = bytes(range(256)) * 4000
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "file").write_bytes(content)
    done = shell(
        LOSSY, "--alone", "--on", "d0", "--out", "out", "--keep", "got",
        "--background", f"s0: gtlsserver -q -d {tmp_path}/www s0 4433 key.pem cert.pem",
        "--", "sh", "-c", "mkdir got && gtlsclient -q --exit-on-all-streams-close --download=got"
        " s0 4433 https://s0:4433/file",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "files" / "d0" / "got" / "file").read_bytes() == content
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    back = next(flow for flow in summary["flows"] if flow["id"] == "shell/reverse")
    assert back["lost_segments"] > 0
    # Not faster than the link.
    assert len(content) * 8 / 20e6 < summary["ended_s"] < 20


def test_a_browser_loads_a_page(shell, tmp_path):
    needs("chromium", "python3")
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text(
        "<script src=script.js></script><script>addEventListener('load', () => {"
        "document.body.append('loaded after ' + Math.round(performance.now()) + ' ms')"
        "})</script>"
    )
    script = "// 20 round trips of slow start are more than enough\n" + " " * 500_000
    (site / "script.js").write_text(script)
    done = shell(
        CLEAN, "--alone", "--on", "d0", "--set", 'linux.memory="2 GB"',
        "--background", f"s0: python3 -m http.server --directory {site} 80",
        "--", "chromium", *BROWSER, "--dump-dom", "http://s0/",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    loaded = re.search(rb"loaded after (\d+) ms", done.stdout)
    assert loaded is not None, done.stdout
    # Two connections, two requests, and the script at the rate of the link.
    least = 3 * 0.1 + len(script) / PAYLOAD * FRAME * 8 / 20e6
    assert least < int(loaded[1]) / 1e3 < 3

# SPDX-License-Identifier: MIT
"""Certificates that nobody but a test vouches for."""

import shutil
import ssl
import subprocess

AVAILABLE = shutil.which("openssl") is not None


def self_signed(scene):
    """(certificate, key) of 'localhost' and the loopback addresses: files of the scene."""
    certificate, key = scene.path("certificate.pem"), scene.path("key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate]
        + ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1", "-days", "2"],
        check=True,
        capture_output=True,
    )
    return certificate, key


def trusting_all():
    """A client's context that takes any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context

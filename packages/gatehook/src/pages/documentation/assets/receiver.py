import hashlib, hmac, json, os, re, time
from http.server import BaseHTTPRequestHandler, HTTPServer

SECRET = os.environ.get("SECRET")  # until the registration: none, and each response is 400
if SECRET and not re.fullmatch("whsec_[A-Za-z0-9+/]{43}=", SECRET):
    raise SystemExit("SECRET is not the secret of a registration, whsec_ and 44 characters.")

def is_valid(header, body):
    parts = [part.strip().partition("=") for part in header.split(",")]
    sent_at = next((value for name, _, value in parts if name == "t"), "")
    if not SECRET or not re.fullmatch("[0-9]{1,12}", sent_at):
        return False
    if abs(time.time() - int(sent_at)) > 300:
        return False
    signed = sent_at.encode() + b"." + body
    expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest().encode()
    values = [value.encode() for name, _, value in parts if name == "v1"]
    return any(hmac.compare_digest(expected, value) for value in values)

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        body = self.rfile.read(int(length)) if re.fullmatch("[0-9]{1,7}", length) else b""
        valid = is_valid(self.headers.get("Gatehook-Signature", ""), body)
        self.send_response(200 if valid else 400)
        self.end_headers()
        if valid:
            event = json.loads(body)
            print(event["type"], event["data"]["object"], flush=True)

HTTPServer(("", int(os.environ.get("PORT", "4000"))), Receiver).serve_forever()

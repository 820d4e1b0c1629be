import hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

SECRET = os.environ["SECRET"]
if not SECRET:
    raise SystemExit("SECRET is empty, and anyone could sign with it.")

def is_valid(header, body):
    parts = [part.split("=", 1) for part in header.split(",")]
    sent_at = next((value for name, value in parts if name == "t"), "0")
    if abs(time.time() - int(sent_at)) > 300:
        return False
    signed = sent_at.encode() + b"." + body
    expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    values = [value for name, value in parts if name == "v1"]
    return any(hmac.compare_digest(expected, value) for value in values)

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        header = self.headers.get("Gatehook-Signature", "t=0")
        valid = is_valid(header, body)
        self.send_response(200 if valid else 400)
        self.end_headers()
        if valid:
            event = json.loads(body)
            print(event["type"], event["data"]["object"], flush=True)

HTTPServer(("", int(os.environ.get("PORT", "4000"))), Receiver).serve_forever()

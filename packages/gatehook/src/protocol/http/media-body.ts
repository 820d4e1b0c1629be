/** A body that the server does not parse (§15.10). */
export class MediaBody {
  /** `Content-Type`, as sent. */
  readonly contentType: string
  readonly bytes: Uint8Array

  constructor(contentType: string, bytes: Uint8Array) {
    this.contentType = contentType
    this.bytes = bytes
  }
}

/** How a receiver computes each signature of a delivery. */
interface SignatureWordsProps {
  /** The headers of an attempt. */
  readonly headers: Readonly<Record<string, string>>
}

interface SignatureHeader {
  readonly name: string
  readonly words: string
}

const SIGNATURES: readonly SignatureHeader[] = [
  {
    name: 'Gatehook-Signature',
    words:
      't is the time of the attempt in Unix seconds. v1 is the hexadecimal HMAC-SHA256 of t, a ' +
      'full stop and the raw body. Its key is the whole secret, whsec_ included. While two ' +
      'secrets are valid, each has a v1, the newest first.',
  },
  {
    name: 'webhook-signature',
    words:
      'Standard Webhooks: the base64 HMAC-SHA256 of webhook-id, webhook-timestamp and the raw ' +
      'body, joined by full stops. Its key is the base64-decoded part of the secret after whsec_.',
  },
  {
    name: 'X-Hub-Signature-256',
    words:
      'The hexadecimal HMAC-SHA256 of the raw body alone. Its key is the oldest valid secret. It ' +
      'contains no time, so prefer another header.',
  },
]

export function SignatureWords({ headers }: SignatureWordsProps) {
  const sent = SIGNATURES.filter(({ name }) => name in headers)
  if (sent.length === 0) {
    return <p class="soft small">The signatures of this attempt are not stored.</p>
  }
  return (
    <>
      <p class="hint">
        Verify any of these headers over the raw body, and reject a time that is more than 5 minutes
        off. The package <code>gatehook-receiver</code> does so.
      </p>
      {sent.map(({ name, words }) => (
        <section key={name}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: as in `ExchangeText` */}
          <pre class="wrap" tabIndex={0}>{`${name}: ${headers[name]}`}</pre>
          <p class="small">{words}</p>
        </section>
      ))}
    </>
  )
}

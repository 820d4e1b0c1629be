/** Verifies and signs every vector of spec/vectors/webhook-signatures.json. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { sign } from './sign.ts'
import { verify } from './verify.ts'

interface Vector {
  secret: string
  id: string
  timestamp: number
  body_name: string
  body_base64: string
  variantA: string
  variantB: string
  standard?: string
}

const file = new URL('../../../spec/vectors/webhook-signatures.json', import.meta.url)
const { anchors, vectors } = JSON.parse(readFileSync(file, 'utf8')) as {
  anchors: { github: { secret: string; body: string; variantA: string } }
  vectors: Vector[]
}

/**
 * The headers of each scheme alone, and of the three together, with the scheme that must decide.
 */
function cases(vector: Vector): [string, Record<string, string>][] {
  const A = { 'x-hub-signature-256': vector.variantA }
  const B = { 'gatehook-signature': vector.variantB }
  const standard = vector.standard && {
    'webhook-id': vector.id,
    'webhook-timestamp': String(vector.timestamp),
    'webhook-signature': vector.standard,
  }
  return [
    ['A', A],
    ['B', B],
    ...(standard ? [['standard', standard] as [string, Record<string, string>]] : []),
    ['B', { ...A, ...B, ...standard }],
  ]
}

/** A receiver accepts variant A only if it names it. */
const schemes = ['A', 'B', 'standard'] as const

for (const vector of vectors) {
  const { secret, id, timestamp, body_name } = vector
  const body = Buffer.from(vector.body_base64, 'base64')

  test(`vector ${secret} ${body_name} verifies`, async () => {
    for (const [scheme, headers] of cases(vector)) {
      const verified = await verify({ body, headers, secrets: [secret], now: timestamp, schemes })
      assert.equal(verified.scheme, scheme)
      assert.equal(verified.timestamp, scheme === 'A' ? undefined : timestamp)
    }
  })

  test(`vector ${secret} ${body_name} does not verify after any change`, async () => {
    for (const [, headers] of cases(vector)) {
      const refused = { name: 'WebhookVerificationError', code: 'signature_mismatch' }
      const longer = Buffer.concat([body, Buffer.from('\n')])
      await assert.rejects(
        verify({ body: longer, headers, secrets: secret, now: timestamp, schemes }),
        refused,
      )
      const other = `${secret.slice(0, -4)}AAAA`
      const attempt = verify({ body, headers, secrets: other, now: timestamp, schemes })
      await assert.rejects(attempt, refused)
    }
  })

  test(`vector ${secret} ${body_name} equals the result of sign()`, async () => {
    assert.deepEqual(await sign({ body, secret, id, timestamp }), {
      'X-Hub-Signature-256': vector.variantA,
      'Gatehook-Signature': vector.variantB,
      ...(vector.standard && {
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': vector.standard,
      }),
    })
  })
}

test("GitHub's published example is variant A", async () => {
  const { secret, body, variantA } = anchors.github
  const headers = { 'X-Hub-Signature-256': variantA }
  assert.equal((await verify({ body, headers, secrets: secret, schemes })).scheme, 'A')
})

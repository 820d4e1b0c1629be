import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  type SigningSecret,
  signatureA,
  signatureB,
  signatureHeaders,
  signatureStandard,
} from './signature.ts'

interface Vector {
  readonly secret: string
  readonly id: string
  readonly timestamp: number
  readonly body_name: string
  readonly body_base64: string
  readonly variantA: string
  readonly variantB: string
  readonly standard?: string
}

const file = new URL('../../../../../spec/vectors/webhook-signatures.json', import.meta.url)
const { anchors, vectors } = JSON.parse(readFileSync(file, 'utf8')) as {
  anchors: { github: { secret: string; body: string; variantA: string } }
  vectors: Vector[]
}

const secret = (value: string): SigningSecret => ({ value })
const bodyOf = (vector: Vector) => Buffer.from(vector.body_base64, 'base64')

test('the signatures equal every vector, byte for byte', () => {
  assert.ok(vectors.length >= 20)
  for (const vector of vectors) {
    const { id, timestamp, body_name } = vector
    const signingSecret = secret(vector.secret)
    const body = bodyOf(vector)
    const named = `${vector.secret} ${body_name}`
    assert.equal(signatureA(signingSecret, body), vector.variantA, named)
    assert.equal(signatureB([signingSecret], timestamp, body), vector.variantB, named)
    assert.equal(signatureStandard([signingSecret], id, timestamp, body), vector.standard, named)
  }
})

test('variant A equals the example that GitHub publishes', () => {
  const { github } = anchors
  assert.equal(signatureA(secret(github.secret), github.body), github.variantA)
})

/** Vectors of one body under several secrets, as during a rotation. */
const vectorsOf = (name: string) => vectors.filter((vector) => vector.body_name === name)

test('during a rotation A uses the oldest secret, the others all, newest first', () => {
  const [old, young] = vectorsOf('event')
  const headers = signatureHeaders({
    secrets: [secret(old!.secret), secret(young!.secret)],
    id: old!.id,
    type: 'thing.created',
    deliveryId: 'dlv_1',
    attempt: 3,
    atS: old!.timestamp,
    body: bodyOf(old!),
    userAgent: 'Gatehook-Webhooks/0',
  })
  const v1 = (vector: Vector) => vector.variantB.split(',')[1]
  assert.deepEqual(headers, {
    'Content-Type': 'application/json',
    'User-Agent': 'Gatehook-Webhooks/0',
    'Gatehook-Event': 'thing.created',
    'Gatehook-Delivery': 'dlv_1',
    'Gatehook-Attempt': '3',
    'X-Hub-Signature-256': old!.variantA,
    'Gatehook-Signature': `t=${old!.timestamp},${v1(young!)},${v1(old!)}`,
    'webhook-id': old!.id,
    'webhook-timestamp': String(old!.timestamp),
    'webhook-signature': `${young!.standard} ${old!.standard}`,
  })
})

test('a secret without a base64 part generates no Standard Webhooks signature', () => {
  const [plain] = vectors.filter((vector) => vector.standard === undefined)
  const rest = { type: 't', deliveryId: 'd', attempt: 1, userAgent: 'u' }
  const { id, timestamp: atS } = plain!
  const delivery = { ...rest, id, atS, body: bodyOf(plain!) }
  const alone = signatureHeaders({ ...delivery, secrets: [secret(plain!.secret)] })
  assert.deepEqual(
    Object.keys(alone).filter((name) => name.startsWith('webhook-')),
    [],
  )
  const [proper] = vectorsOf(plain!.body_name)
  const both = signatureHeaders({
    ...delivery,
    secrets: [secret(plain!.secret), secret(proper!.secret)],
  })
  assert.equal(both['webhook-signature'], proper!.standard)
})

test('a delivery without a secret throws instead of leaving unsigned', () => {
  const rest = { id: 'e', type: 't', deliveryId: 'd', attempt: 1, atS: 1, body: '', userAgent: 'u' }
  assert.throws(() => signatureHeaders({ ...rest, secrets: [] }))
})

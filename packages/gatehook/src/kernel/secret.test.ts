/** Sealed values open in their own place, under their own master secret, and nowhere else. */
import assert from 'node:assert/strict'
import { createCipheriv } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { Failure } from './failure.ts'
import { systemRandom } from './random.ts'
import { HEAD_BYTES, headOf, keyIdOf, SealError, Vault } from './secret.ts'

const random = systemRandom()
const [OLD, NEW] = [
  'the first master secret, long enough',
  'the second master secret, long enough',
] as const

/** As releases before key ids sealed: nonce, ciphertext, tag. */
function sealedBefore(vault: Vault, purpose: string, plain: string): Buffer {
  const nonce = random.bytes(12)
  const cipher = createCipheriv('aes-256-gcm', vault.key(purpose), nonce)
  return Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

test('a value opens for its purpose and row, and for no other', () => {
  const vault = new Vault(OLD, random)
  const text = fc.string({ unit: 'binary', maxLength: 40 })
  fc.assert(
    fc.property(text, text, text, text, text, (purpose, row, plain, otherPurpose, otherRow) => {
      const sealed = vault.seal(purpose, row, plain)
      const expected = Buffer.from(plain, 'utf8')
      assert.deepEqual(vault.open(purpose, row, sealed), expected)
      // A lone surrogate has no bytes of its own: both rows would be the same bytes.
      if (!Buffer.from(otherRow).equals(Buffer.from(row))) {
        assert.throws(() => vault.open(purpose, otherRow, sealed), SealError)
      }
      if (!Buffer.from(otherPurpose).equals(Buffer.from(purpose))) {
        assert.throws(() => vault.open(otherPurpose, row, sealed), SealError)
      }
    }),
  )
})

test('a value with any byte changed, added or removed does not open', () => {
  const vault = new Vault(OLD, random)
  const sealed = vault.seal('p', 'r', 'a secret')
  for (let at = 0; at < sealed.length; at++) {
    const bent = Buffer.from(sealed)
    bent[at]! ^= 1
    assert.throws(() => vault.open('p', 'r', bent), SealError, `byte ${at}`)
    assert.throws(() => vault.open('p', 'r', sealed.subarray(0, at)), SealError, `length ${at}`)
  }
  assert.throws(() => vault.open('p', 'r', Buffer.concat([sealed, Buffer.from([0])])), SealError)
})

test('arbitrary bytes are refused, and never cost more than one error', () => {
  const vault = new Vault([OLD, NEW], random)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, named) => {
      const sealed = named ? Buffer.concat([headOf(keyIdOf(OLD)), bytes]) : bytes
      assert.throws(() => vault.open('p', 'r', sealed), SealError)
    }),
  )
})

test('a value says which master secret sealed it, and not what that is', () => {
  const vault = new Vault(OLD, random)
  const sealed = vault.seal('p', 'r', 'plain')
  assert.deepEqual(sealed.subarray(0, HEAD_BYTES), headOf(vault.keyId))
  assert.notEqual(keyIdOf(OLD), keyIdOf(NEW))
  assert.equal(Buffer.from(vault.keyId, 'hex').length, 8)
  assert.throws(() => new Vault(NEW, random).open('p', 'r', sealed), SealError)
})

test('values of earlier releases open, whatever their first byte is', () => {
  const vault = new Vault([NEW, OLD], random)
  const before = new Vault(OLD, random)
  for (let n = 0; n < 600; n++) {
    const sealed = sealedBefore(before, 'p', `plain ${n}`)
    assert.equal(vault.open('p', 'any row', sealed).toString(), `plain ${n}`)
  }
  assert.throws(() => vault.open('q', 'any row', sealedBefore(before, 'p', 'x')), SealError)
})

test('with two master secrets both open; the active one seals', () => {
  const [old, vault] = [new Vault(OLD, random), new Vault(OLD, random)]
  vault.hold([NEW, OLD])
  assert.equal(vault.keyId, keyIdOf(OLD))
  const first = vault.seal('p', 'r', 'one')
  assert.equal(old.open('p', 'r', first).toString(), 'one')
  vault.activate(keyIdOf(NEW))
  const second = vault.seal('p', 'r', 'two')
  assert.deepEqual(second.subarray(0, HEAD_BYTES), headOf(keyIdOf(NEW)))
  assert.deepEqual(
    [first, second].map((sealed) => vault.open('p', 'r', sealed).toString()),
    ['one', 'two'],
  )
  vault.dropOthers()
  assert.throws(() => vault.open('p', 'r', first), SealError)
  assert.equal(vault.open('p', 'r', second).toString(), 'two')
})

test('without the active secret nothing is sealed', () => {
  const vault = new Vault(OLD, random)
  vault.activate(keyIdOf(NEW))
  assert.equal(vault.missing, keyIdOf(NEW))
  assert.throws(() => vault.seal('p', 'r', 'x'), new Failure('storage_unavailable'))
  vault.hold([NEW])
  vault.activate(keyIdOf(NEW))
  assert.equal(vault.missing, undefined)
  vault.seal('p', 'r', 'x')
})

test('a value under an unknown key makes the vault look once for further secrets', () => {
  const vault = new Vault(OLD, random)
  const sealed = new Vault(NEW, random).seal('p', 'r', 'x')
  let looked = 0
  vault.reload = () => {
    looked++
    vault.hold([NEW])
  }
  assert.equal(vault.open('p', 'r', sealed).toString(), 'x')
  assert.equal(vault.open('p', 'r', sealed).toString(), 'x')
  assert.equal(looked, 1)
})

test('MAC keys follow the active secret, and older ones verify until they are dropped', () => {
  const vault = new Vault(OLD, random)
  const keys = vault.macKeys('cursor')
  const old = keys.current
  vault.hold([NEW])
  vault.activate(keyIdOf(NEW))
  assert.ok(!keys.current.equals(old))
  assert.ok(keys.accepted[0]!.equals(keys.current) && keys.accepted[1]!.equals(old))
  vault.dropOthers()
  assert.equal(keys.accepted.length, 1)
  vault.acceptRetired('cursor', [old.export()])
  assert.ok(keys.accepted.at(-1)!.equals(old))
  assert.equal(vault.macKeys('another purpose').accepted.length, 1)
})

/** A value decrypts for its purpose and row, under its own master secret, and for no other. */
import assert from 'node:assert/strict'
import { createCipheriv } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemRandom } from './random.ts'
import { DecryptionError, HEAD_BYTES, keyIdOf, Vault } from './secret.ts'

const random = systemRandom()
const [OLD, NEW] = [
  'the first master secret, long enough',
  'the second master secret, long enough',
] as const
/** HKDF-SHA-256 of each secret, salt `gatehook`, info `key id`: part of the stored format. */
const [OLD_ID, NEW_ID] = ['e722b994f75b39f1', '863f8a61dd545443'] as const

/** Encrypts in the format of releases without key ids: nonce, ciphertext, tag. */
function encryptWithoutKeyId(vault: Vault, purpose: string, plain: string): Buffer {
  const nonce = random.bytes(12)
  const cipher = createCipheriv('aes-256-gcm', vault.key(purpose), nonce)
  return Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

test('a value decrypts for its purpose and row, and for no other', () => {
  const vault = new Vault(OLD, random)
  const text = fc.string({ unit: 'binary', maxLength: 40 })
  fc.assert(
    fc.property(text, text, text, text, text, (purpose, row, plain, otherPurpose, otherRow) => {
      const encrypted = vault.encrypt(purpose, row, plain)
      const expected = Buffer.from(plain, 'utf8')
      assert.deepEqual(vault.decrypt(purpose, row, encrypted), expected)
      // Lone surrogates encode to the same bytes, so compare bytes.
      if (!Buffer.from(otherRow).equals(Buffer.from(row))) {
        assert.throws(() => vault.decrypt(purpose, otherRow, encrypted), DecryptionError)
      }
      if (!Buffer.from(otherPurpose).equals(Buffer.from(purpose))) {
        assert.throws(() => vault.decrypt(otherPurpose, row, encrypted), DecryptionError)
      }
    }),
  )
})

test('a value with any byte changed, added or removed does not decrypt', () => {
  const vault = new Vault(OLD, random)
  const encrypted = vault.encrypt('p', 'r', 'a secret')
  for (let at = 0; at < encrypted.length; at++) {
    const changed = Buffer.from(encrypted)
    changed[at]! ^= 1
    assert.throws(() => vault.decrypt('p', 'r', changed), DecryptionError, `byte ${at}`)
    assert.throws(
      () => vault.decrypt('p', 'r', encrypted.subarray(0, at)),
      DecryptionError,
      `length ${at}`,
    )
  }
  assert.throws(
    () => vault.decrypt('p', 'r', Buffer.concat([encrypted, Buffer.from([0])])),
    DecryptionError,
  )
})

test('arbitrary bytes are rejected with a DecryptionError', () => {
  const vault = new Vault([OLD, NEW], random)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, named) => {
      const encrypted = named ? Buffer.concat([Buffer.from(`01${OLD_ID}`, 'hex'), bytes]) : bytes
      assert.throws(() => vault.decrypt('p', 'r', encrypted), DecryptionError)
    }),
  )
})

test('a value names its master secret by id', () => {
  const vault = new Vault(OLD, random)
  const encrypted = vault.encrypt('p', 'r', 'plain')
  assert.equal(encrypted.subarray(0, HEAD_BYTES).toString('hex'), `01${OLD_ID}`)
  assert.deepEqual([keyIdOf(OLD), keyIdOf(NEW), vault.keyId], [OLD_ID, NEW_ID, OLD_ID])
  assert.throws(() => new Vault(NEW, random).decrypt('p', 'r', encrypted), DecryptionError)
})

test('values without key ids decrypt, whatever their first byte is', () => {
  const vault = new Vault([NEW, OLD], random)
  const before = new Vault(OLD, random)
  for (let n = 0; n < 600; n++) {
    const encrypted = encryptWithoutKeyId(before, 'p', `plain ${n}`)
    assert.equal(vault.decrypt('p', 'any row', encrypted).toString(), `plain ${n}`)
  }
  assert.throws(
    () => vault.decrypt('q', 'any row', encryptWithoutKeyId(before, 'p', 'x')),
    DecryptionError,
  )
})

test('both of two master secrets decrypt; the active one encrypts', () => {
  const [old, vault] = [new Vault(OLD, random), new Vault(OLD, random)]
  vault.addMasters([NEW, OLD])
  assert.equal(vault.keyId, OLD_ID)
  const first = vault.encrypt('p', 'r', 'one')
  assert.equal(old.decrypt('p', 'r', first).toString(), 'one')
  vault.activate(NEW_ID)
  const second = vault.encrypt('p', 'r', 'two')
  assert.equal(second.subarray(0, HEAD_BYTES).toString('hex'), `01${NEW_ID}`)
  assert.deepEqual(
    [first, second].map((encrypted) => vault.decrypt('p', 'r', encrypted).toString()),
    ['one', 'two'],
  )
  vault.dropInactive()
  assert.throws(() => vault.decrypt('p', 'r', first), DecryptionError)
  assert.equal(vault.decrypt('p', 'r', second).toString(), 'two')
})

test('without the active secret, encryption fails', () => {
  const vault = new Vault(OLD, random)
  vault.activate(NEW_ID)
  assert.equal(vault.missingKeyId, NEW_ID)
  assert.throws(() => vault.encrypt('p', 'r', 'x'), {
    code: 'storage_unavailable',
    message: /not started with the master secret/,
  })
  vault.addMasters([NEW])
  vault.activate(NEW_ID)
  assert.equal(vault.missingKeyId, undefined)
  vault.encrypt('p', 'r', 'x')
})

test('a value under an unknown key makes the vault reload its secrets once', () => {
  const vault = new Vault(OLD, random)
  const encrypted = new Vault(NEW, random).encrypt('p', 'r', 'x')
  let reloads = 0
  vault.reload = () => {
    reloads++
    vault.addMasters([NEW])
  }
  assert.equal(vault.decrypt('p', 'r', encrypted).toString(), 'x')
  assert.equal(vault.decrypt('p', 'r', encrypted).toString(), 'x')
  assert.equal(reloads, 1)
})

test('HMAC keys follow the active secret, and older keys verify until they are dropped', () => {
  const vault = new Vault(OLD, random)
  const keys = vault.macKeys('cursor')
  const old = keys.current
  vault.addMasters([NEW])
  vault.activate(NEW_ID)
  assert.ok(!keys.current.equals(old))
  assert.ok(keys.accepted[0]!.equals(keys.current) && keys.accepted[1]!.equals(old))
  vault.dropInactive()
  assert.equal(keys.accepted.length, 1)
  vault.acceptRetiredKeys('cursor', [old.export()])
  assert.ok(keys.accepted.at(-1)!.equals(old))
  assert.equal(vault.macKeys('another purpose').accepted.length, 1)
})

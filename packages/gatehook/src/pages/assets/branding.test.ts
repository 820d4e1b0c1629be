/** The branding of the portal: name, logo, accent. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ConfigError, loadConfig } from '../../platform/config/config.ts'
import { createBranding, readLogo, shellValues } from './branding.ts'

function fileOf(t: TestContext, content: string | Buffer): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-logo-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'logo')
  writeFileSync(file, content)
  return file
}

const png = Buffer.from('\x89PNG\r\n\x1a\n rest', 'latin1')

test('a logo is recognized by its content', (t) => {
  assert.equal(readLogo(fileOf(t, png)).type, 'image/png')
  assert.equal(readLogo(fileOf(t, Buffer.from('\xff\xd8\xff', 'latin1'))).type, 'image/jpeg')
  assert.equal(readLogo(fileOf(t, 'RIFF0000WEBPVP8 ')).type, 'image/webp')
  assert.equal(readLogo(fileOf(t, '<svg xmlns="">')).type, 'image/svg+xml')
  const svg = '<?xml version="1.0"?>\n<!-- a logo -->\n<svg>'
  assert.equal(readLogo(fileOf(t, svg)).type, 'image/svg+xml')
})

test('a logo of other content, or a large one, prevents the start', (t) => {
  for (const content of ['', '<html><svg>', 'text', Buffer.alloc(131_073, '<svg>')]) {
    assert.throws(() => readLogo(fileOf(t, content)), ConfigError)
  }
})

test('the shell has the name, the path of the logo, and the accent of both themes', (t) => {
  const logo = fileOf(t, png)
  assert.deepEqual(shellValues(createBranding({ name: 'Harbour', accent: '#0b5cad', logo })), {
    service: 'Harbour',
    logo: '/portal/logo',
    accent: 'light-dark(#0b5cad, #6397cb)',
    accent_tint: 'light-dark(#ebf2f8, #222c39)',
  })
  const plain = shellValues(createBranding({ name: 'Harbour', accent: null, logo: null }))
  assert.deepEqual(plain, { service: 'Harbour', logo: '', accent: '', accent_tint: '' })
})

test('an accent that is hard to read prevents the start, with its contrast', () => {
  const load = (accent: string) => loadConfig({ GATEHOOK_PORTAL_ACCENT: accent }).portalAccent
  assert.equal(load('#0B5CAD'), '#0b5cad')
  assert.equal(load('#05a'), '#0055aa')
  assert.throws(() => load('#ffcc00'), /GATEHOOK_PORTAL_ACCENT is #ffcc00.*contrast of 1\.\d/)
  assert.throws(() => load('blue'), /expected a colour such as/)
})

test('the name of the portal is one line', () => {
  const load = (name: string) => loadConfig({ GATEHOOK_PORTAL_NAME: name }).portalName
  assert.equal(load('Hafen Süd'), 'Hafen Süd')
  assert.throws(() => load('two\nlines'), ConfigError)
  assert.throws(() => load('x'.repeat(61)), ConfigError)
})

/** Restores the backup of an installation in a folder of its own, as on a new machine. */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { gatehook, jsonOf, type Place } from './command.ts'

/** Backs up, and returns a function that restores the backup with the master secret. */
export async function backedUp(t: TestContext, place: Place): Promise<() => Promise<Place>> {
  const backup = join(emptyFolder(t), 'b.gatehook')
  await jsonOf(place, 'backup', backup)
  return async () => {
    const restored = { ...place, cwd: emptyFolder(t) }
    mkdirSync(join(restored.cwd, 'data'))
    cpSync(join(place.cwd, 'data', 'secret.key'), join(restored.cwd, 'data', 'secret.key'))
    await jsonOf(restored, 'restore', backup)
    return restored
  }
}

/** Writes the export of the audit trail to a file, and returns its text. */
export async function exportTo(place: Place, file: string): Promise<string> {
  const { exit, stdout, stderr } = await gatehook(place, 'audit', 'export')
  assert.equal(exit, 0, stderr)
  writeFileSync(file, stdout)
  return stdout
}

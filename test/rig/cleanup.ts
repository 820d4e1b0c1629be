/** Cleans up after a test or a file of tests. */
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'

/** A test. */
export interface CleanupScope {
  after(cleanup: () => Promise<void>): void
}

type Cleanup = () => unknown

const cleanups = new WeakMap<CleanupScope, Cleanup[]>()

/**
 * Calls `cleanup` at the end of the scope, after those that were added later: a process ends before
 * its folder is removed. A cleanup that fails does not prevent the others, as a hook of `t.after`
 * does; the first error is thrown at the end.
 */
export function onEnd(scope: CleanupScope, cleanup: Cleanup): void {
  const existing = cleanups.get(scope)
  if (existing) return void existing.push(cleanup)
  const added = [cleanup]
  cleanups.set(scope, added)
  scope.after(() => runAll(added))
}

async function runAll(added: Cleanup[]): Promise<void> {
  const errors: unknown[] = []
  for (const each of added.reverse()) {
    try {
      await each()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}

const ofFile: Cleanup[] = []

/** Calls `cleanup` at the end of the file of tests, after those that were added later. */
export function onEndOfFile(cleanup: Cleanup): void {
  ofFile.push(cleanup)
}

/** Runs the cleanups of the file that ends. */
export const endOfFile = (): Promise<void> => runAll(ofFile.splice(0))

/** Far above the time that a process without open resources takes. */
const END_MS = 60_000

/** A test that failed may leave a server or a timer, which would keep the process for ever. */
function requireEnd(): void {
  const end = () => {
    const open = process.getActiveResourcesInfo().join(', ')
    console.error(`After its tests, the process does not end by itself. It has: ${open}`)
    process.exit(1)
  }
  setTimeout(end, END_MS).unref()
}

after(async () => {
  requireEnd()
  await endOfFile()
})

/** Creates an empty folder, which is removed at the end of the scope. */
export function emptyFolder(scope: CleanupScope): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-test-'))
  onEnd(scope, () => rm(folder, { recursive: true, force: true }))
  return folder
}

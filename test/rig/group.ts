/** Runs the test files of a group in one process, which loads the modules of the engine once. */
import { after, suite, test } from 'node:test'
import { endOfFile } from './cleanup.ts'

/** Defines a suite for each file. The hooks of a file, and its databases, end with its suite. */
export function defineFiles(files: readonly (readonly [name: string, url: string])[]): void {
  for (const [name, url] of files) {
    suite(name, async () => {
      after(endOfFile)
      try {
        await import(url)
      } catch (error) {
        test('the file loads', () => {
          throw error // as a test, so that the figures of the run have it
        })
      }
    })
  }
}

/**
 * Loads the project's modules of a test process from one file with their types removed. Resolving,
 * reading and stripping some 640 modules takes a third of the start of a test file. Each run writes
 * the file anew; without it, Node loads the sources.
 */
import { openSync, readFileSync, readSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { INDEX, type ModuleIndex, SOURCES } from './module-store.ts'

const folder = process.env.GATEHOOK_TEST_MODULES
if (folder) {
  const index = new Map(JSON.parse(readFileSync(`${folder}/${INDEX}`, 'utf8')) as ModuleIndex)
  const file = openSync(`${folder}/${SOURCES}`, 'r')
  registerHooks({
    resolve(specifier, context, next) {
      if (!specifier.startsWith('.') || !context.parentURL) return next(specifier, context)
      const url = new URL(specifier, context.parentURL).href
      if (!index.has(url)) return next(specifier, context)
      return { url, format: 'module', shortCircuit: true }
    },
    load(url, context, next) {
      const place = index.get(url.replace(/\?.*/, '')) // a query evaluates a module anew
      if (!place) return next(url, context)
      const source = Buffer.allocUnsafe(place.bytes)
      readSync(file, source, 0, place.bytes, place.offset)
      return { format: 'module', source: source.toString(), shortCircuit: true }
    },
  })
}

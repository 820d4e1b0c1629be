/** `gatehook openapi`: the OpenAPI document of a version, made from the declaration alone. */
import { writeFileSync } from 'node:fs'
import { readConfig, reasonOf } from '../config/environment.ts'
import { wallClock } from '../kernel/clock.ts'
import { createCatalog } from '../resources/catalog.ts'
import { openApiDocument } from '../resources/openapi.ts'
import type { Service } from '../resources/service.ts'
import type { CommandSpec, Input } from './command.ts'
import { engineOptions } from './engine.ts'
import { findService, loadService } from './load.ts'
import { CommandError, UsageError } from './mistake.ts'
import { bold } from './output.ts'

function documentOf({ definition }: Service, wanted: unknown) {
  // Nothing is stored: shapes and schemas are all that is asked of the catalog.
  const record = () => Promise.reject(new Error('bug: a document records no events'))
  const catalog = createCatalog(definition, { clock: wallClock, record, counterSlots: 1 })
  const version = String(wanted ?? catalog.newest)
  if (!catalog.versions.includes(version)) {
    throw new UsageError(
      `There is no version ${version}; there are ${catalog.versions.join(', ')}.`,
    )
  }
  return openApiDocument(catalog, version)
}

async function run({ options, out, flags }: Input): Promise<undefined> {
  const service = await loadService(findService(String(options.dir ?? '.')))
  const { publicUrl } = readConfig(flags)
  const made = documentOf(service, options.version)
  const document = publicUrl ? { ...made, servers: [{ url: publicUrl }] } : made
  const text = `${JSON.stringify(document, null, 2)}\n`
  if (options.out === undefined) {
    process.stdout.write(text)
    return
  }
  const file = String(options.out)
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${reasonOf(error)}.`)
  }
  out.result({ file }, () => `Wrote ${bold(file)}.`)
}

export const openapi: CommandSpec = {
  name: 'openapi',
  summary: 'the OpenAPI document of a version',
  description: 'Prints the document the service would serve. Neither database nor port is touched.',
  options: [
    ...engineOptions,
    ['--version <VERSION>', 'which version (default: the newest)'],
    ['--out <FILE>', 'write it there instead of printing it'],
  ],
  config: ['publicUrl'],
  examples: [
    ['gatehook openapi --version v1 --out openapi-v1.json', 'for generators and reviews'],
    ['gatehook openapi | jq .paths', 'what callers can do'],
  ],
  run,
}

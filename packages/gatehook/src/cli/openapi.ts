/** `gatehook openapi`: the OpenAPI document of a version, made from the declaration alone. */
import { writeFileSync } from 'node:fs'
import { readConfig } from '../config/environment.ts'
import { reasonOf } from '../config/file-errors.ts'
import { wallClock } from '../kernel/clock.ts'
import { type Catalog, createCatalog } from '../resources/catalog.ts'
import { openApiDocument } from '../resources/openapi.ts'
import type { Service, ServiceDefinition } from '../resources/service.ts'
import type { CommandSpec, Input } from './command.ts'
import { engineOptions } from './engine.ts'
import { serviceOf } from './load.ts'
import { CommandError, UsageError } from './mistake.ts'
import { bold } from './output.ts'

/** Shapes and schemas of a service; nothing is stored by it. */
export const catalogOf = (definition: ServiceDefinition): Catalog =>
  createCatalog(definition, {
    clock: wallClock,
    record: () => Promise.reject(new Error('bug: a document records no events')),
    counterSlots: 1,
  })

/** Throws a `CommandError` where it cannot be written. */
export function writeOut(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${reasonOf(error)}.`)
  }
}

function documentOf({ definition }: Service, wanted: unknown) {
  const catalog = catalogOf(definition)
  const version = String(wanted ?? catalog.newest)
  if (!catalog.versions.includes(version)) {
    throw new UsageError(
      `There is no version ${version}; there are ${catalog.versions.join(', ')}.`,
    )
  }
  return openApiDocument(catalog, version)
}

async function run(input: Input): Promise<undefined> {
  const { options, out, flags } = input
  const service = await serviceOf(input)
  const { publicUrl } = readConfig(flags)
  const made = documentOf(service, options.version)
  const document = publicUrl ? { ...made, servers: [{ url: publicUrl }] } : made
  const text = `${JSON.stringify(document, null, 2)}\n`
  if (options.out === undefined) {
    process.stdout.write(text)
    return
  }
  const file = String(options.out)
  writeOut(file, text)
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

/** `gatehook openapi`: generates the OpenAPI document of a version from the declaration alone. */
import { writeFileSync } from 'node:fs'
import { readConfig } from '../config/environment.ts'
import { wallClock } from '../kernel/clock.ts'
import { describeFileError } from '../kernel/files.ts'
import { type Catalog, createCatalog } from '../resources/catalog.ts'
import { openApiDocument } from '../resources/openapi.ts'
import type { Service, ServiceDefinition } from '../resources/service.ts'
import type { CommandSpec, Input } from './command.ts'
import { CommandError, UsageError } from './errors.ts'
import { installationOptions } from './installation.ts'
import { bold } from './output.ts'
import { serviceOf } from './service-file.ts'

/** Returns the shapes and schemas of a service, without a database. */
export const catalogOf = (definition: ServiceDefinition): Catalog =>
  createCatalog(definition, {
    clock: wallClock,
    record: () => Promise.reject(new Error('bug: a document records no events')),
    counterSlots: 1,
  })

/** Writes a file. Throws `CommandError` if that fails. */
export function writeFile(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${describeFileError(error)}.`)
  }
}

function documentOf({ definition }: Service, requestedVersion: unknown) {
  const catalog = catalogOf(definition)
  const version = String(requestedVersion ?? catalog.newest)
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
  const document = documentOf(service, options.version)
  if (publicUrl) Object.assign(document, { servers: [{ url: publicUrl }] })
  const text = `${JSON.stringify(document, null, 2)}\n`
  if (options.out === undefined) {
    process.stdout.write(text)
    return
  }
  const file = String(options.out)
  writeFile(file, text)
  out.result({ file }, () => `Wrote ${bold(file)}.`)
}

export const openapi: CommandSpec = {
  name: 'openapi',
  summary: 'the OpenAPI document of a version',
  description: 'Prints the document that the service serves. Uses no database and no port.',
  options: [
    ...installationOptions,
    ['--version <VERSION>', 'which version (default: the newest)'],
    ['--out <FILE>', 'write the document to this file'],
  ],
  config: ['publicUrl'],
  examples: [
    ['gatehook openapi --version v1 --out openapi-v1.json', 'for generators and reviews'],
    ['gatehook openapi | jq .paths', 'the operations'],
  ],
  run,
}

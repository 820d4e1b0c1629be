/** `gatehook openapi`: generates an OpenAPI document from the declaration alone. */
import { writeFileSync } from 'node:fs'
import { type Catalog, createCatalog } from '../declare/resources/catalog.ts'
import type { Service, ServiceDefinition } from '../declare/resources/service.ts'
import { DOCUMENTS, openApiDocuments } from '../documents.ts'
import { wallClock } from '../kernel/clock.ts'
import { describeFileError } from '../kernel/files.ts'
import { systemRandom } from '../kernel/random.ts'
import { withoutWebhooks, withServer } from '../protocol/openapi/routes.ts'
import { type CommandSpec, configOf, type Input } from './command.ts'
import { CommandError, UsageError } from './errors.ts'
import { installationOptions } from './installation.ts'
import { bold, writeText } from './output.ts'
import { serviceOf } from './service-file.ts'

/** Returns the shapes and schemas of a service, without a database. */
export const catalogOf = (definition: ServiceDefinition): Catalog =>
  createCatalog(definition, {
    clock: wallClock,
    random: systemRandom(),
    record: () => Promise.reject(new Error('bug: a document records no events')),
  })

export function writeFile(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${describeFileError(error)}.`)
  }
}

function documentOf({ definition }: Service, input: Input) {
  const { version, document } = input.options
  const catalog = catalogOf(definition)
  if (version !== undefined && document !== undefined) {
    throw new UsageError('--document and --version exclude each other.')
  }
  const name = String(document ?? version ?? catalog.newest)
  const names: readonly string[] = document === undefined ? catalog.versions : DOCUMENTS
  const readsReplicas = configOf(input).databaseReadUrls.length > 0
  if (names.includes(name)) return openApiDocuments(catalog, readsReplicas).get(name)!
  const kind = document === undefined ? 'version' : 'document'
  throw new UsageError(`There is no ${kind} ${name}; there are ${names.join(', ')}.`)
}

async function run(input: Input): Promise<undefined> {
  const { options } = input
  const service = await serviceOf(input)
  const { publicUrl } = configOf(input)
  const whole = documentOf(service, input)
  const general = options.webhooks === false ? withoutWebhooks(whole) : whole
  const document = publicUrl ? withServer(general, publicUrl) : general
  writeResult(input, `${JSON.stringify(document, null, 2)}\n`)
}

/** Writes a text to the file of `--out`, or prints it. */
export function writeResult({ options, out }: Input, text: string): void {
  if (options.out === undefined) {
    writeText(process.stdout, text)
    return
  }
  const file = String(options.out)
  writeFile(file, text)
  out.result({ file }, () => `Wrote ${bold(file)}.`)
}

export const openapi: CommandSpec = {
  name: 'openapi',
  summary: 'the OpenAPI document of a version, or of the engine',
  description: 'Prints the document that the service serves. Uses no database and no port.',
  options: [
    ...installationOptions,
    ['--version <VERSION>', 'which version (default: the newest)'],
    ['--document <NAME>', `a document of the engine: ${DOCUMENTS.join(', ')}`],
    ['--no-webhooks', 'without webhooks, which some generators write as operations'],
    ['--out <FILE>', 'write the document to this file'],
  ],
  config: ['publicUrl'],
  examples: [
    ['gatehook openapi --version v1 --out openapi-v1.json', 'for generators and reviews'],
    ['gatehook openapi | jq .paths', 'the operations'],
  ],
  run,
}

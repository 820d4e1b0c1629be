/**
 * `npm run test:judges`: generators of clients read the documents of running services as published.
 * Each client is compiled, creates rows, reads all pages of a filtered list, changes and deletes a
 * row, and reads a failure. Needs npm, PyPI, Maven Central, the proxy of Go and crates.io, with
 * Java, Maven, Go, Cargo and Python. `JUDGES=go,rust` selects by name. `JUDGES_FOLDER` names a
 * folder that has tools, dependencies and clients after the run; default: a temporary one.
 */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { hotel } from '../../packages/gatehook/examples/bookings/service.ts'
import { marketplace } from '../../packages/gatehook/examples/marketplace/service.ts'
import { api } from '../../packages/gatehook/service/service.ts'
import type { Service } from '../../packages/gatehook/src/declare/resources/service.ts'
import { installDotnet } from '../outside/dotnet.ts'
import { environment, npm, output } from '../outside/stage.ts'
import { emptyFolder } from '../rig/cleanup.ts'
import { openService } from '../rig/service.ts'
import { isSelected } from './selection.ts'

const PROGRAMS = join(import.meta.dirname, 'programs')
const NODE = dirname(process.execPath)
const root = process.env.JUDGES_FOLDER ?? emptyFolder({ after })

/** A service, with the collection that the programs call `widgets` and its field `caption`. */
interface Subject {
  readonly service: Service
  readonly version: string
  readonly rows: string
  readonly row: string
  readonly caption: string
}

const subjects: readonly Subject[] = [
  { service: api, version: 'v2', rows: 'users', row: 'user', caption: 'name' },
  { service: marketplace, version: 'v1', rows: 'sellers', row: 'seller', caption: 'name' },
  { service: hotel, version: 'v2', rows: 'guests', row: 'guest', caption: 'full_name' },
]

const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)
const camel = (text: string) => text.replace(/_(\w)/g, (_all, letter) => letter.toUpperCase())

/** Returns the text of a program for a service. */
function programFor({ version, rows, row, caption }: Subject, file: string): string {
  const words: readonly (readonly [word: string, value: string])[] = [
    ['captionCamel', camel(caption)],
    ['vN', version],
    ['widget_', `${row}_`],
    ['widgets', rows],
    ['Widgets', capital(rows)],
    ['widget', row],
    ['Widget', capital(row)],
    ['Caption_', capital(caption)],
    ['Caption', capital(camel(caption))],
    ['caption', caption],
  ]
  const text = readFileSync(join(PROGRAMS, file), 'utf8')
  return words.reduce((all, [word, value]) => all.replaceAll(word, value), text)
}

/** A generator in a folder of its own, which contains the documents of a running service. */
interface Bench {
  readonly folder: string
  /** Runs a program with the address and a key of the service. */
  run(program: string, ...args: string[]): Promise<string>
  /** Runs a tool of npm. */
  tool(name: string, ...args: string[]): Promise<string>
  /** Runs OpenAPI Generator on a document. */
  generate(file: string, generator: string, output: string, ...options: string[]): Promise<string>
  /** Writes a program for the service. */
  write(file: string, target?: string): string
}

const PUBLISHED = 'api.json'
/** The document without webhooks (`?webhooks=0`). */
const PLAIN = 'plain.json'

const python = (name: string) => join(root, 'venv/bin', name)
const dotnet = python('dotnet')

async function runPython({ run, write }: Bench, file: string): Promise<string> {
  write(file)
  return run(python('python'), file)
}

async function runGo({ run, write, folder }: Bench, file: string): Promise<string> {
  write(file, 'main.go')
  writeFileSync(join(folder, 'go.mod'), 'module judge\n\ngo 1.24\n')
  await run('go', 'mod', 'tidy')
  return run('go', 'run', '.')
}

async function runTypeScript({ run, tool, write }: Bench, file: string): Promise<string> {
  write('flow.ts')
  write(file)
  const words = '--noEmit --strict --skipLibCheck --allowImportingTsExtensions --target es2022'
  const places = '--module esnext --moduleResolution bundler --lib es2022,dom,dom.iterable'
  await tool('tsc', ...words.split(' '), ...places.split(' '), file)
  await tool('esbuild', file, '--bundle', '--platform=node', '--format=esm', '--outfile=out.mjs')
  return run(process.execPath, 'out.mjs')
}

/** Writes the document as OpenAPI 3.0; objects with further members would be maps. */
async function writeOpenApi30(folder: string, tool: Bench['tool']): Promise<void> {
  await tool('openapi-down-convert', '--input', PLAIN, '--output', 'plain30.json')
  const document = readFileSync(join(folder, 'plain30.json'), 'utf8')
  const closed = document.replace(/"additionalProperties": true,\n/g, '')
  writeFileSync(join(folder, 'plain30.json'), closed)
}

const SWAGGER_CODEGEN = 'io.swagger.codegen.v3:swagger-codegen-cli:3.0.61'
const ANNOTATION_DEPENDENCY = `<dependencies><dependency><groupId>javax.annotation</groupId>
<artifactId>javax.annotation-api</artifactId><version>1.3.2</version></dependency>`

/** Options without which a method has a parameter for each filter. */
const ONE_PARAMETER = '--additional-properties=useSingleRequestParameter=true'

const judges: Readonly<Record<string, (bench: Bench) => Promise<string>>> = {
  'openapi-typescript': async (bench) => {
    // Without the option, a member with a default is required in bodies.
    const words = ['--default-non-nullable=false', '--output', 'types.ts']
    await bench.tool('openapi-typescript', PUBLISHED, ...words)
    return runTypeScript(bench, 'openapi-fetch.ts')
  },
  'hey-api': async (bench) => {
    await bench.tool('openapi-ts', '--input', `./${PUBLISHED}`, '--output', 'hey')
    return runTypeScript(bench, 'hey-api.ts')
  },
  oazapfts: async (bench) => {
    await bench.tool('oazapfts', PUBLISHED, 'oazapfts-client.ts')
    return runTypeScript(bench, 'oazapfts.ts')
  },
  orval: async (bench) => {
    const output = { target: './orval-client.ts', client: 'fetch' }
    const config = JSON.stringify({ api: { input: `./${PUBLISHED}`, output } })
    writeFileSync(join(bench.folder, 'orval.config.cjs'), `module.exports = ${config}\n`)
    await bench.tool('orval', '--config', 'orval.config.cjs')
    return runTypeScript(bench, 'orval.ts')
  },
  'typescript-fetch': async (bench) => {
    // The checks at run time do not compile; without them the names must be those of the API.
    const option = '--additional-properties=withoutRuntimeChecks=true,modelPropertyNaming=original'
    await bench.generate(PUBLISHED, 'typescript-fetch', 'generated', option)
    return runTypeScript(bench, 'typescript-fetch.ts')
  },
  'openapi-python-client': async (bench) => {
    const words = ['--path', PUBLISHED, '--output-path', 'judged', '--meta', 'none']
    const report = await bench.run(python('openapi-python-client'), 'generate', ...words)
    assert.doesNotMatch(report, /warning|error/i)
    return runPython(bench, 'openapi_python_client.py')
  },
  python: async (bench) => {
    // Headers of webhooks have no type in the Python of the tool, which is no valid code.
    await bench.generate(PLAIN, 'python', 'generated')
    await bench.run(python('pip'), 'install', '-q', '--force-reinstall', './generated')
    return runPython(bench, 'oag.py')
  },
  'oapi-codegen': async (bench) => {
    const { folder, run } = bench
    mkdirSync(join(folder, 'api'))
    const tool = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'
    const words = ['-generate', 'types,client', '-package', 'api', '-o', 'api/api.go']
    await run('go', 'run', tool, ...words, PUBLISHED)
    return runGo(bench, 'oapi.go')
  },
  go: async (bench) => {
    const names = ['--git-user-id', 'judge', '--git-repo-id', 'openapi']
    await bench.generate(PUBLISHED, 'go', 'openapi', ...names)
    for (const file of ['go.mod', 'go.sum', 'test']) {
      rmSync(join(bench.folder, 'openapi', file), { recursive: true, force: true })
    }
    return runGo(bench, 'oag.go')
  },
  rust: async (bench) => {
    // Without builders a call names every parameter; instants of queries are no ISO 8601.
    const options = `${ONE_PARAMETER},library=reqwest-trait,useBonBuilder=true`
    await bench.generate(PUBLISHED, 'rust', '.', options, '--type-mappings', 'DateTime=String')
    mkdirSync(join(bench.folder, 'src/bin'))
    bench.write('main.rs', 'src/bin/judge.rs')
    const add = ['add', '--quiet', 'tokio', '--features', 'macros,rt-multi-thread']
    await bench.run('cargo', ...add)
    const words = ['run', '--quiet', '--features', 'bon', '--bin', 'judge']
    return bench.run('cargo', ...words, '--target-dir', join(root, 'rust'))
  },
  java: async (bench) => {
    await bench.generate(PUBLISHED, 'java', '.', ONE_PARAMETER)
    bench.write('Judge.java', 'src/main/java/Judge.java')
    await bench.run('mvn', '-q', '-DskipTests', 'compile')
    return bench.run('mvn', '-q', 'exec:java', '-Dexec.mainClass=Judge')
  },
  'swagger-codegen': async ({ folder, run, tool, write }) => {
    // It reads OpenAPI 3.0, and names an annotation that Java lacks since 11.
    await writeOpenApi30(folder, tool)
    const artifact = `-Dartifact=${SWAGGER_CODEGEN}`
    await run('mvn', '-q', 'dependency:copy', artifact, '-DoutputDirectory=.')
    const jar = `${SWAGGER_CODEGEN.split(':').slice(1).join('-')}.jar`
    await run('java', '-jar', jar, 'generate', '-i', 'plain30.json', '-l', 'java', '-o', '.')
    const pom = join(folder, 'pom.xml')
    writeFileSync(pom, readFileSync(pom, 'utf8').replace('<dependencies>', ANNOTATION_DEPENDENCY))
    write('SwaggerJudge.java', 'src/main/java/SwaggerJudge.java')
    await run('mvn', '-q', '-DskipTests', 'compile')
    return run('mvn', '-q', 'exec:java', '-Dexec.mainClass=SwaggerJudge')
  },
  csharp: async ({ generate, folder, run, write }) => {
    // The default library sends every credential of a document; retries need a further package.
    const options = ['--library', 'httpclient', '--additional-properties=supportsRetry=false']
    const unused = 'src/Org.OpenAPITools/Client/RetryConfiguration.cs'
    options.push('--openapi-generator-ignore-list', unused)
    await generate(PUBLISHED, 'csharp', 'generated', ...options)
    const client = join(folder, 'generated/src/Org.OpenAPITools')
    const files = readdirSync(client, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.cs'))
      .map((path) => join(client, path))
    return run(dotnet, 'compile', write('Judge.cs'), ...files)
  },
  nswag: async ({ folder, run, tool, write }) => {
    await writeOpenApi30(folder, tool)
    const words = ['/input:plain30.json', '/output:client.cs', '/namespace:Api']
    const style = ['/className:ApiClient', '/operationGenerationMode:SingleClientFromOperationId']
    const nswag = join(root, 'dotnet/node_modules/.bin/nswag')
    const options = ['/generateOptionalParameters:true', '/runtime:Net90']
    await run(nswag, 'openapi2csclient', ...words, ...style, ...options)
    return run(dotnet, 'compile', write('NswagJudge.cs'), 'client.cs')
  },
}

const selected = Object.keys(judges).filter(isSelected)

before(async () => {
  if (selected.length === 0) return
  cpSync(join(import.meta.dirname, 'tools'), root, { recursive: true })
  await npm(root, NODE, 'install')
  await output(root, environment(NODE), 'python3', '-m', 'venv', 'venv')
  const packages = ['openapi-python-client==0.29.1', 'ruff==0.17.6']
  await output(root, environment(NODE), python('pip'), 'install', '--quiet', ...packages)
  if (selected.some((name) => name === 'csharp' || name === 'nswag')) {
    await installDotnet(join(root, 'dotnet'), join(root, 'venv'))
  }
})

for (const subject of subjects) {
  for (const name of selected) {
    const judge = judges[name]!
    const { service, version } = subject
    test(`${name} has a client of ${service.definition.name}, ${version}`, async (t) => {
      const { app, key } = await openService(t, 'sqlite', { service })
      const { url } = await app.listen()
      const folder = join(root, `${subject.rows}-${name}`)
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder)
      for (const [file, query] of [
        [PUBLISHED, ''],
        [PLAIN, '?webhooks=0'],
      ] as const) {
        const response = await fetch(`${url}/openapi/${version}.json${query}`)
        assert.equal(response.status, 200)
        writeFileSync(join(folder, file), await response.text())
      }
      const path = `${join(root, 'venv/bin')}:${process.env.PATH}`
      const env = { ...environment(NODE, { URL: url, KEY: await key() }), PATH: path }
      const run: Bench['run'] = (program, ...args) => output(folder, env, program, ...args)
      const tool: Bench['tool'] = (command, ...args) =>
        run(join(root, 'node_modules/.bin', command), ...args)
      const text = await judge({
        folder,
        run,
        tool,
        generate: (file, generator, target, ...options) => {
          const input = ['-i', join(folder, file), '-g', generator, '-o', join(folder, target)]
          const cli = join(root, 'node_modules/.bin/openapi-generator-cli')
          return output(root, env, cli, 'generate', ...input, ...options)
        },
        write: (file, target = file) => {
          writeFileSync(join(folder, target), programFor(subject, file))
          return target
        },
      })
      assert.match(text, /^ok$/m)
    })
  }
}

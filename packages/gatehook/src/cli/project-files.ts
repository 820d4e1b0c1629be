/**
 * The files that `gatehook init` writes beside the service: texts, and a `package.json` merged with
 * an existing one. Pure; `init.ts` reads and writes files.
 */

export interface Project {
  /** A valid npm name. */
  readonly name: string
  /** The dependency `gatehook`: a version range, or a tarball in `vendor/`. */
  readonly engine: string
  /** The engine's range of Node versions. */
  readonly node: string
}

type JsonObject = Readonly<Record<string, unknown>>

export const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const scripts = {
  start: 'gatehook start',
  dev: 'gatehook dev',
  test: 'gatehook check && node --test',
  types: 'tsc --noEmit',
  check: 'gatehook check',
}

const membersOf = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}

/** The script `test` that `npm init` writes. */
const PLACEHOLDER = 'echo "Error: no test specified" && exit 1'

/** Returns the scripts of a `package.json`, without the placeholder of `npm init`. */
const ownScripts = (existing: JsonObject | undefined): JsonObject => {
  const { test, ...others } = membersOf(existing?.scripts)
  return test === undefined || test === PLACEHOLDER ? others : { ...others, test }
}

/**
 * Returns the project's `package.json`. Existing members win, except `type` and the engine. Node is
 * an optional dependency, so that an image with its own Node can omit it; the range of an existing
 * dependency on it moves there.
 */
export function packageJson({ name, engine, node }: Project, existing?: JsonObject): JsonObject {
  const { node: nodeDependency = '^26', ...dependencies } = membersOf(existing?.dependencies)
  const merged = (member: string, defaults: JsonObject) => ({
    [member]: { ...defaults, ...membersOf(existing?.[member]) },
  })
  return {
    ...(existing ?? { name, version: '0.1.0', private: true }),
    type: 'module',
    ...merged('engines', { node }),
    scripts: { ...scripts, ...ownScripts(existing) },
    dependencies: { ...dependencies, gatehook: engine },
    ...merged('optionalDependencies', { node: nodeDependency }),
    ...merged('devDependencies', { '@types/node': '^26', typescript: '^7' }),
    ...merged('allowScripts', { node: true }),
  }
}

/** Names the scripts that an existing `package.json` defines otherwise. */
export const scriptsThatDiffer = (existing: JsonObject): string[] => {
  const own = ownScripts(existing)
  return Object.entries(scripts)
    .filter(([name, text]) => own[name] !== undefined && own[name] !== text)
    .map(([name]) => name)
}

const tsconfig = json({
  compilerOptions: {
    target: 'esnext',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
    noEmit: true,
  },
})

const readme = ({ name }: Project) => `# ${name}

A public API on [Gatehook](https://www.npmjs.com/package/gatehook). \`service.ts\` declares the
resources; tables, validation, lists, events and the OpenAPI document follow from it.

\`\`\`sh
npm install
npm start         # http://127.0.0.1:8787, data in ./data
npm run dev       # the same, restarted when a source file changes
npm test          # npm run check, then your tests
npm run types     # an error in a declaration is a compile error
npm run check     # finds changes that break callers, against api.lock.json
\`\`\`

The first start prints a test key and a request to try. \`npx gatehook --help\` lists the other
commands.

\`docker compose up --build\` serves the project at https://localhost behind Caddy, with data in a
volume.
`

const gitignore = 'node_modules/\n/data/\n'

const dockerignore = 'node_modules\ndata\n.git\n'

const serviceTest = `/** Calls the service as its clients do, with its own database and no port. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type App, openApp } from 'gatehook/app'
import { api } from './service.ts'

const { resources, versions } = api.definition
let app: App

before(async () => {
  app = await openApp({ service: api, seed: true })
})
after(() => app.close())

test('each list requires a key and returns rows of the samples', async () => {
  const key = await app.createKey()
  for (const { name, sample } of resources) {
    const path = \`/api/\${name}?limit=1\`
    assert.equal((await app.request(path)).status, 401)
    const response = await app.request(path, { headers: { 'x-api-key': key } })
    assert.equal(response.status, 200)
    const { data } = (await response.json()) as { data: unknown[] }
    assert.equal(data.length, sample ? 1 : 0)
  }
})

test('every version has an OpenAPI document', async () => {
  for (const { name } of versions) {
    assert.equal((await app.request(\`/openapi/\${name}.json\`)).status, 200)
  }
})
`

const PROBE =
  "require('node:http').get('http://127.0.0.1:8787/readyz', (answer) => " +
  "process.exit(answer.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"

/** `npm ci` needs the tarball before it reads the lock file. */
const dockerfile = ({
  engine,
}: Project) => `# The project without the npm package of Node: the image contains Node.
FROM node:26-slim AS install
WORKDIR /app
COPY package.json package-lock.json* ./
${engine.startsWith('file:') ? 'COPY vendor ./vendor\n' : ''}RUN if [ -f package-lock.json ]; \\
  then npm ci --omit=dev --omit=optional; \\
  else npm install --omit=dev --omit=optional; fi

FROM node:26-slim
ENV HOME=/tmp
WORKDIR /app
COPY --from=install /app/node_modules ./node_modules
COPY . .
RUN mkdir -p /app/data && chown node:node /app/data
USER node
VOLUME /app/data
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD \\
  ["node", "-e", "${PROBE}"]
CMD ["node", "node_modules/gatehook/bin/gatehook.cjs", "start"]
`

const compose = `# The service behind Caddy, which terminates TLS with a certificate of its own.
services:
  api:
    build: .
    environment:
      GATEHOOK_HOST: 0.0.0.0
      GATEHOOK_PUBLIC_URL: https://localhost
      GATEHOOK_TRUST_PROXY: 172.29.87.0/24
    volumes:
      - data:/app/data
    read_only: true
    tmpfs:
      - /tmp
    restart: unless-stopped
  proxy:
    image: caddy:2
    command: caddy reverse-proxy --from localhost --to api:8787
    ports:
      - 443:443
    volumes:
      - caddy:/data
    depends_on:
      api:
        condition: service_healthy
    restart: unless-stopped
networks:
  default:
    ipam:
      config:
        - subnet: 172.29.87.0/24
volumes:
  data:
  caddy:
`

/** Returns path → text of each file, without the service and `package.json`. */
export const surroundings = (project: Project): Readonly<Record<string, string>> => ({
  'tsconfig.json': tsconfig,
  'README.md': readme(project),
  '.gitignore': gitignore,
  '.dockerignore': dockerignore,
  'service.test.ts': serviceTest,
  Dockerfile: dockerfile(project),
  'compose.yaml': compose,
})

/**
 * The files `gatehook init` writes around a service: texts, and a `package.json` merged with one
 * that is there. Pure; `init.ts` reads and writes.
 */

export interface Project {
  /** As npm allows it. */
  readonly name: string
  /** What `dependencies` says of the engine: a version range, or a tarball in `vendor/`. */
  readonly engine: string
  /** The engine's own range of Node versions. */
  readonly node: string
}

type Members = Readonly<Record<string, unknown>>

export const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const scripts = {
  start: 'gatehook start',
  dev: 'gatehook dev',
  test: 'gatehook check && node --test',
  types: 'tsc --noEmit',
  check: 'gatehook check',
}

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}

/**
 * The project's `package.json`. What an existing one says stays, except `type` and the engine; Node
 * is optional, so that an image that brings its own leaves it out.
 */
export function packageJson({ name, engine, node }: Project, existing?: Members): Members {
  const merged = (member: string, ours: Members, forced: Members = {}) => ({
    [member]: { ...ours, ...membersOf(existing?.[member]), ...forced },
  })
  return {
    ...(existing ?? { name, version: '0.1.0', private: true }),
    type: 'module',
    ...merged('engines', { node }),
    ...merged('scripts', scripts),
    ...merged('dependencies', {}, { gatehook: engine }),
    ...merged('optionalDependencies', { node: '^26' }),
    ...merged('devDependencies', { '@types/node': '^26', typescript: '^7' }),
    ...merged('allowScripts', { node: true }),
  }
}

/** Scripts of ours that an existing `package.json` has with another text: those stay. */
export const scriptsThatDiffer = (existing: Members): string[] => {
  const theirs = membersOf(existing.scripts)
  return Object.entries(scripts)
    .filter(([name, text]) => theirs[name] !== undefined && theirs[name] !== text)
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
    noPropertyAccessFromIndexSignature: true,
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
npm run types     # a mistake in a declaration is a compile error
npm run check     # what breaks callers, against api.lock.json
\`\`\`

The first start prints a test key and a request to try. \`npx gatehook --help\` lists the other
commands.

\`docker compose up --build\` serves the project at https://localhost behind Caddy, with data in a
volume.
`

const gitignore = 'node_modules/\n/data/\n'

const dockerignore = 'node_modules\ndata\n.git\n'

const serviceTest = `/** Calls the service as its clients do: a database of its own, no port. */
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
  for (const { name } of resources) {
    const path = \`/api/\${name}?limit=1\`
    assert.equal((await app.request(path)).status, 401)
    const response = await app.request(path, { headers: { 'x-api-key': key } })
    assert.equal(response.status, 200)
    const { data } = (await response.json()) as { data: unknown[] }
    assert.equal(data.length, 1)
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

/** A tarball must be in the image before `npm ci` reads the lock file. */
const dockerfile = ({
  engine,
}: Project) => `# The project without Node of its own: the image brings it.
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

/** Path inside the project → text, apart from the service and `package.json`. */
export const surroundings = (project: Project): Readonly<Record<string, string>> => ({
  'tsconfig.json': tsconfig,
  'README.md': readme(project),
  '.gitignore': gitignore,
  '.dockerignore': dockerignore,
  'service.test.ts': serviceTest,
  Dockerfile: dockerfile(project),
  'compose.yaml': compose,
})

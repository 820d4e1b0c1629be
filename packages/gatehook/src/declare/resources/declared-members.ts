/**
 * The members that each word of a declaration accepts, for plain JavaScript. The types of the
 * options require that the table has all of them and no other (`test/types/declared-members.ts`).
 */
import type { Shape } from '../../protocol/fields/declaration-mistakes.ts'

const access = {
  read: true,
  create: true,
  update: true,
  delete: true,
  persons: true,
} as const

const listField = { field: true, index: true } as const

const list = {
  filter: listField,
  prefix: true,
  contains: true,
  sort: listField,
} as const

const softDelete = {
  scope: true,
  purgeAfterDays: true,
} as const

const signUp = { fields: true, scopes: true } as const

const jobOptions = { attempts: true, timeoutMs: true } as const

const migration = {
  number: true,
  name: true,
  table: true,
  sql: { sqlite: true, postgres: true },
} as const

/** Members whose names the declaration chooses, or that another word has, are `true`. */
export const declaredMembers = {
  resource: {
    singular: true,
    fields: true,
    list,
    access,
    events: true,
    unique: true,
    retired: true,
    batch: true,
    export: true,
    softDelete,
    search: true,
    maxBodyBytes: true,
    mcp: true,
  },
  action: {
    scope: true,
    from: true,
    to: true,
    emits: true,
    input: true,
    run: true,
    failures: true,
    mcp: true,
  },
  rule: { failures: true },
  event: { scope: true },
  failure: { status: true, message: true, details: true },
  editable: { from: true },
  signsIn: {
    username: true,
    names: true,
    scopes: true,
    signUp,
    passwordReset: true,
  },
  before: {
    why: true,
    had: true,
    hadNot: true,
    up: true,
    down: true,
    renamed: true,
  },
  route: {
    method: true,
    path: true,
    scope: true,
    summary: true,
    query: true,
    input: true,
    output: true,
    status: true,
    headers: true,
    failures: true,
    mcp: true,
    steps: true,
    timeoutMs: true,
    maxBodyBytes: true,
    handle: true,
  },
  upstream: { url: true, timeoutMs: true, set: true },
  forward: {
    method: true,
    path: true,
    to: true,
    upstreamPath: true,
    integers: true,
    scope: true,
    summary: true,
    pass: true,
    query: true,
    input: true,
    output: true,
    errors: true,
    stream: true,
    repeatable: true,
    responseHeaders: true,
    status: true,
    maxBodyBytes: true,
    mcp: true,
  },
  service: {
    name: true,
    vendor: true,
    license: { name: true, identifier: true, url: true },
    contact: { name: true, url: true, email: true },
    versions: true,
    resources: true,
    events: true,
    externalEvents: { type: true, scope: true, event: true, from: true },
    migrations: migration,
    claims: true,
    scopes: true,
    oauth: { documents: { scopes: true } },
  },
  job: jobOptions,
  every: { ...jobOptions, timeZone: true, each: true },
  on: { ...jobOptions, name: true },
  mail: { from: true, links: true, texts: true },
} as const satisfies Readonly<Record<string, Shape>>

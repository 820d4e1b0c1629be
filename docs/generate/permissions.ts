/** Generates `docs/reference/permissions.md` from the permission table of the engine. */
import { CALLERS, permissions } from '../../packages/gatehook/src/permissions.ts'

const INTRO = `# Permissions

Which callers reach which endpoint, and the scope they need. The page is generated from
\`packages/gatehook/src/permissions.ts\`, the table that the server enforces. A test calls every
endpoint as every kind of caller. The scope \`admin\` implies every other scope (§13).

A caller is one of:

| caller | credential |
| --- | --- |
| key | an API key |
| client | an access token of the client-credentials grant |
| person | Basic, or an access token of a first-party session |
| application | an access token that a person granted to a third-party client |
| operator | a console session |
`

const DECLARED = `
## Resources and routes

Endpoints of a resource follow from its declaration: \`access\` names the scope of each operation,
an action its own. Every valid credential with the scope reaches them. Persons and applications
reach only rows that the person owns, unless they hold \`<collection>:all\`. Rows without an owner
are closed to them (403 naming that scope), unless \`access.persons\` opens them (§6.7). Where
\`access.read\` is \`public\`, reading needs no scope and no credential (§6.10). Only \`admin\`
renames or deletes a person that holds an account scope (§6.9).
Rows of another customer or mode are 404 for everyone (§1.1).
`

export function permissionsPage(): string {
  const meanings = Object.entries(CALLERS).map(([name, { means }]) => `| ${name} | ${means} |`)
  const rows = permissions.map(
    ({ method, path, callers, scope }) =>
      `| \`${method} ${path}\` | ${callers} | ${scope === undefined ? '' : `\`${scope}\``} |`,
  )
  return [
    INTRO,
    '| in the table | who |',
    '| --- | --- |',
    ...meanings,
    '',
    '## Endpoints of the engine',
    '',
    '| endpoint | callers | scope |',
    '| --- | --- | --- |',
    ...rows,
    DECLARED,
  ].join('\n')
}

/** The command lines that the pages offer to copy; a test parses and runs them. */

type Mode = 'live' | 'test'

const DEFAULT_PORT = '8787'

/** Selects the node of this page; `port` is that of its address, or empty. */
const portFlag = (port: string): string =>
  port === '' || port === DEFAULT_PORT ? '' : ` --port ${port}`

/** `listen` and `trigger` are in test mode without the flag. */
const liveFlag = (mode: Mode): string => (mode === 'live' ? ' --mode live' : '')

export const initCommand = 'npx gatehook init my-api'
export const createOperatorCommand = 'npx gatehook operators create you@example.com'
export const operatorLinkCommand = 'npx gatehook operators link'

/** The file is an export of the audit trail. */
export const restoreRevocationsCommand = 'npx gatehook restore --revocations audit.ndjson'

export const discardEventCommand = (id: string): string => `npx gatehook outbox discard ${id}`

/** Every service has the scope `events:read`. */
export const createKeyCommand = (mode: Mode): string =>
  `npx gatehook keys create --name "My program" --mode ${mode} --scopes events:read`

export const createClientCommand = (mode: Mode): string =>
  `npx gatehook clients create --name "My app" --mode ${mode} --scope events:read` +
  ' --redirect-uri https://app.example.com/callback'

/** Pipelines of one repository at GitHub. */
export const createIssuerCommand =
  'npx gatehook issuers create https://token.actions.githubusercontent.com' +
  ' --match repository=acme/shop --scope events:read'

export const exportCustomerCommand = (id: string): string => `npx gatehook customers export ${id}`

export const exportPersonCommand = (id: string): string => `npx gatehook users export ${id}`

export const listenCommand = (port: string): string => `npx gatehook listen${portFlag(port)}`

/** Forwards events to a receiver on the reader's computer. */
export const forwardCommand = (mode: Mode, port: string): string =>
  `${listenCommand(port)}${liveFlag(mode)} --forward-to http://localhost:3000/hooks`

/** Its effects are real, so that the pages offer it in test mode only. */
export const triggerCommand = (type: string, port: string): string =>
  `npx gatehook trigger ${type}${portFlag(port)}`

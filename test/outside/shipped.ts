/**
 * Starts the installed package as the files of `deploy/` do: their command, environment, user and
 * probes. Folders, ports and the database are those of the test.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseAllDocuments, parse as parseYaml } from 'yaml'

type Variables = Readonly<Record<string, string>>

export interface Launch {
  readonly command: readonly string[]
  readonly env: Variables
  /** The user; undefined without root, which a change of the user needs. */
  readonly uid: number | undefined
  /** After this time the supervisor kills the process. */
  readonly graceMs: number
  readonly probe: { readonly path: string; readonly periodMs: number }
}

const DEPLOY = join(import.meta.dirname, '../../deploy')
const read = (path: string): string => readFileSync(join(DEPLOY, path), 'utf8')
const userOf = (uid: number): number | undefined => (process.getuid?.() === 0 ? uid : undefined)

const pairsOf = (lines: readonly string[]): Variables =>
  Object.fromEntries(
    lines.map((line) => [line.split('=', 1)[0]!, line.slice(line.indexOf('=') + 1)]),
  )

const secondsOf = (text: string | number): number => Number.parseFloat(String(text)) * 1_000

/** Reads the unit of systemd; `environment` is the content of `/etc/gatehook/environment`. */
export function readUnit(project: string, environment: Variables): Launch {
  const unit = read('systemd/gatehook.service').split('\n')
  const values = (name: string) =>
    unit.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1))
  const [command = ''] = values('ExecStart')
  const [folder = ''] = values('WorkingDirectory')
  if (values('DynamicUser')[0] !== 'yes') throw new Error('the unit has no user of its own')
  return {
    command: command.replaceAll(folder, project).split(' '),
    env: { ...pairsOf(values('Environment')), ...environment },
    uid: userOf(65_534),
    graceMs: secondsOf(values('TimeoutStopSec')[0]!),
    probe: { path: '/readyz', periodMs: 500 },
  }
}

/** The last stage of the Dockerfile. */
function readImage() {
  const [stage = ''] = read('Dockerfile')
    .replaceAll('\\\n', ' ')
    .split(/^FROM /m)
    .slice(-1)
  const instruction = (name: string) => new RegExp(`^${name} (.*)$`, 'm').exec(stage)![1]!
  return {
    entrypoint: JSON.parse(instruction('ENTRYPOINT')) as string[],
    arguments: JSON.parse(instruction('CMD')) as string[],
    env: pairsOf(instruction('ENV').split(' ')),
    health: JSON.parse(/^HEALTHCHECK .*? CMD (\[.*\])$/m.exec(stage)![1]!) as string[],
    uid: instruction('USER') === 'node' ? 1_000 : 0,
  }
}

/** The command of a container's HEALTHCHECK. */
export const readHealthCheck = (): readonly string[] => readImage().health

/** Reads a node of Compose; `values` are those of `.env`. */
export function readCompose(values: Variables): Launch {
  const { services } = parseYaml(read('compose.yaml'), { merge: true })
  const { environment, stop_grace_period: grace } = services.node1
  const image = readImage()
  const substitute = (text: string) => text.replace(/\$\{(\w+):\?\}/g, (_, name) => values[name]!)
  const own = Object.entries<string>(environment).map(([name, text]) => [name, substitute(text)])
  return {
    command: [...image.entrypoint, ...image.arguments],
    env: { ...image.env, ...Object.fromEntries(own) },
    uid: userOf(image.uid),
    graceMs: secondsOf(grace),
    probe: { path: '/healthz', periodMs: 1_000 },
  }
}

/** Reads the job of the migration and a pod of Kubernetes. `secret` is `secret/gatehook`. */
export function readManifests(secret: Variables): { readonly job: Launch; readonly pod: Launch } {
  const template = (file: string) =>
    parseAllDocuments(read(`kubernetes/${file}`), { merge: true })[0]!.toJS().spec.template.spec
  const { configMapGenerator } = parseYaml(read('kubernetes/kustomization.yaml'))
  const image = readImage()
  const env = { ...image.env, ...pairsOf(configMapGenerator[0].literals), ...secret }
  const launch = (file: string): Launch => {
    const pod = template(file)
    const [container] = pod.containers
    const probe = container.readinessProbe
    return {
      command: [...image.entrypoint, ...(container.args ?? image.arguments)],
      env,
      uid: userOf(pod.securityContext.runAsUser),
      graceMs: secondsOf(pod.terminationGracePeriodSeconds ?? 30),
      probe: {
        path: probe?.httpGet.path ?? '/readyz',
        periodMs: secondsOf(probe?.periodSeconds ?? 1),
      },
    }
  }
  return { job: launch('migration.yaml'), pod: launch('deployment.yaml') }
}

/** Starts a process in the project. `more` replaces variables: the port, the database. */
export function launch({ command, env, uid }: Launch, project: string, more: Variables) {
  const [program = '', ...args] = command
  const path = [dirname(process.execPath), process.env.PATH].join(':')
  return spawn(program, args, {
    cwd: project,
    env: { PATH: path, ...env, ...more },
    stdio: ['ignore', 'ignore', 'inherit'],
    ...(uid !== undefined && { uid, gid: uid }),
  })
}

/** Returns the status of a path; 0 when the connection failed. */
export const statusOf = (port: number, path: string): Promise<number> =>
  new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path, agent: false })
    sent.once('error', () => resolve(0))
    sent.once('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.end()
  })

/** Probes a node as its supervisor does until the status is another one. Throws if it ends. */
export async function probeUntil(
  { probe }: Launch,
  node: ChildProcess,
  port: number,
  matches: (status: number) => boolean,
): Promise<void> {
  for (;;) {
    if (matches(await statusOf(port, probe.path))) return
    if (node.exitCode !== null || node.signalCode !== null) throw new Error('the node has ended')
    await pause(probe.periodMs)
  }
}

/** Ends a process as its supervisor does, and returns its exit code; null after SIGKILL. */
export async function terminate({ graceMs }: Launch, node: ChildProcess): Promise<number | null> {
  const ended = once(node, 'exit') as Promise<[number | null]>
  node.kill('SIGTERM')
  const timer = setTimeout(() => node.kill('SIGKILL'), graceMs)
  const [code] = await ended
  clearTimeout(timer)
  return code
}

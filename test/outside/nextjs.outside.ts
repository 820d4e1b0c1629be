/**
 * `npm run test:outside`: the example of docs/guides/mounted.md inside Next.js, built and started
 * with the package as it is published (§17.4). Needs the registry of npm.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { packAll } from '../../build/pack.ts'
import { emptyFolder } from '../rig/cleanup.ts'
import { reportGuide, startStopwatch, writePage } from './application.ts'
import { assertMounted, startHost } from './mounted-engine.ts'
import { environment, npm, output } from './stage.ts'

const MANIFEST = {
  name: 'acme',
  private: true,
  type: 'module',
  dependencies: { next: '16.4.6', react: '19.3.1', 'react-dom': '19.3.1' },
  devDependencies: { '@types/node': '26.6.6', '@types/react': '19.3.3', typescript: '5.9.3' },
}
const OF_NEXT = /^(?:app\/|lib\/|next\.config|instrumentation|service)/
const PAGE = 'export default () => null\n'
const LAYOUT = `export default ({ children }: { children: React.ReactNode }) => (
  <html lang="en">
    <body>{children}</body>
  </html>
)
`

test('Next.js: the example of the guide mounts the engine', async (t) => {
  const seconds = startStopwatch()
  const folder = emptyFolder(t)
  const node = dirname(process.execPath)
  for (const page of ['README.md', 'docs/guides/mounted.md']) {
    writePage(folder, page, (path) => OF_NEXT.test(path))
  }
  const shared = join(folder, 'lib/gatehook.ts')
  writeFileSync(shared, readFileSync(shared, 'utf8').replace('../service.ts', '../service'))
  writeFileSync(join(folder, 'app/page.tsx'), PAGE)
  writeFileSync(join(folder, 'app/layout.tsx'), LAYOUT)
  writeFileSync(join(folder, 'package.json'), JSON.stringify(MANIFEST))
  const [tarball] = packAll(join(folder, 'tarballs'), ['gatehook'])
  await npm(folder, node, 'install', tarball!.file)
  const next = join(folder, 'node_modules/.bin/next')
  const quiet = { NEXT_TELEMETRY_DISABLED: '1' }
  await output(folder, environment(node, quiet), next, 'build')
  const installedS = seconds()
  const started = startStopwatch()
  const words = [process.execPath, next, 'start', '--hostname', '127.0.0.1', '--port', 'PORT']
  const host = await startHost(t, folder, words, { ...quiet, NEXT_MANUAL_SIG_HANDLE: 'true' })
  await assertMounted(host)
  reportGuide(t, installedS, started)
})

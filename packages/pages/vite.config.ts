/**
 * Vite bundles the pages, and serves them with hot reload: `npm run dev -w gatehook-pages`, beside
 * a running `npm start`. `build/pages.ts` runs the builds and compresses their files.
 */
import { join } from 'node:path'
import { defineConfig, type Plugin } from 'vite'
import { operationBodies } from './operation-bodies.ts'

const folder = import.meta.dirname
const SHELL = /^\/(console|portal)(\/(?!(session|api)\b).*)?$/

/** The development server returns a shell for every path of its pages, as the engine does. */
const serveShells: Plugin = {
  name: 'gatehook-shells',
  apply: 'serve',
  configureServer(server) {
    server.middlewares.use((request, _response, next) => {
      const [path = ''] = (request.url ?? '').split('?')
      const [, name] = SHELL.exec(path) ?? []
      if (name !== undefined && request.method === 'GET') request.url = `/${name}.html`
      next()
    })
  },
  transformIndexHtml: (html) =>
    html
      .replaceAll('%service%', 'Development')
      .replaceAll('%release%', 'development')
      .replaceAll(/%(logo|accent|accent_tint)%/g, ''),
}

/** A browser paints after the script has set the theme. */
const blockRendering: Plugin = {
  name: 'gatehook-block-rendering',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler: (html) => html.replaceAll('type="module"', 'type="module" blocking="render"'),
  },
}

const api = process.env.GATEHOOK_URL ?? 'http://127.0.0.1:8787'
const proxied = ['/admin', '/api', '/openapi', '/console/session', '/portal/session', '/portal/api']

/** Modules of many pages are one file: it compresses better than a small file for each of them. */
const PARTS = { name: 'parts', minShareCount: 7 }

const inputs = ['console', 'portal'].map((name) => join(folder, `${name}.html`))

export const config = defineConfig({
  root: folder,
  // Files find each other below any path; the engine adds its path to those of a shell.
  experimental: {
    renderBuiltUrl: (file, { hostType }) => (hostType === 'js' ? { relative: true } : `/${file}`),
  },
  plugins: [operationBodies, serveShells, blockRendering],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  server: { proxy: Object.fromEntries(proxied.map((path) => [path, api])) },
  build: {
    outDir: join(folder, '..', 'gatehook', 'pages'),
    emptyOutDir: true,
    manifest: 'manifest.json',
    license: { fileName: 'licenses.md' },
    target: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    rollupOptions: {
      input: inputs,
      output: { codeSplitting: { groups: [PARTS] } },
    },
  },
})

/** Adds the stylesheet of the docs, whose HTML is the engine's. */
export const docsConfig = defineConfig({
  ...config,
  build: {
    ...config.build,
    emptyOutDir: false,
    manifest: false,
    license: false,
    cssCodeSplit: true,
    rollupOptions: { input: join(folder, 'src', 'styles', 'docs.css') },
  },
})

// biome-ignore lint/style/noDefaultExport: Vite requires it
export default config

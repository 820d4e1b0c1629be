/**
 * The branding of the portal: the name of the service, a logo and one accent. The shell of the
 * portal has them as attributes; the logo is served from memory.
 */
import { readFileSync, statSync } from 'node:fs'
import { type Accent, deriveAccent } from '../../platform/config/accent.ts'
import { ConfigError } from '../../platform/config/config.ts'

export interface Logo {
  readonly type: string
  readonly bytes: Uint8Array
}

export interface Branding {
  readonly name: string
  readonly logo: Logo | undefined
  readonly accent: Accent | undefined
}

const LOGO_MAX_BYTES = 131_072

/** Returns the media type of an image by its first bytes. */
function imageTypeOf(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, 12)
  if (start.startsWith('\x89PNG\r\n')) return 'image/png'
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (start.startsWith('RIFF') && start.endsWith('WEBP')) return 'image/webp'
  const text = bytes.toString('utf8', 0, 1024).trimStart()
  return /^(<\?xml[^>]*>\s*)?(<!--[^>]*-->\s*)?<svg[\s>]/.test(text) ? 'image/svg+xml' : undefined
}

/** Reads the file of a logo. Throws a `ConfigError` for a large file and for other content. */
export function readLogo(file: string): Logo {
  const problem = (reason: string) =>
    new ConfigError([`GATEHOOK_PORTAL_LOGO is ${file}: ${reason}`])
  const { size } = statSync(file)
  if (size > LOGO_MAX_BYTES) {
    throw problem(`it has ${size} bytes; a logo has at most ${LOGO_MAX_BYTES}.`)
  }
  const bytes = readFileSync(file)
  const type = imageTypeOf(bytes)
  if (type === undefined) throw problem('it is no PNG, JPEG, WebP or SVG image.')
  return { type, bytes }
}

interface BrandingOptions {
  readonly name: string
  /** `#rrggbb`; null: that of the stylesheet. */
  readonly accent: string | null
  /** The path of a file; null: no logo. */
  readonly logo: string | null
}

export const createBranding = ({ name, accent, logo }: BrandingOptions): Branding => ({
  name,
  logo: logo === null ? undefined : readLogo(logo),
  accent: accent === null ? undefined : deriveAccent(accent),
})

/** Returns the values of the portal's shell. */
export const shellValues = ({
  name,
  logo,
  accent,
}: Branding): Readonly<Record<string, string>> => ({
  service: name,
  logo: logo ? '/portal/logo' : '',
  accent: accent ? `light-dark(${accent.light}, ${accent.dark})` : '',
  accent_tint: accent ? `light-dark(${accent.lightTint}, ${accent.darkTint})` : '',
})

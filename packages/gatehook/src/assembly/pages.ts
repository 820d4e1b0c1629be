/** Assembles the built pages: console and portal. */
import type { BuiltPages } from '../pages/assets/assets.ts'
import { createBranding } from '../pages/assets/branding.ts'
import { pageRoutes } from '../pages/assets/routes.ts'
import type { Component, Foundation } from './foundation.ts'

/** @param service The display name of the API. */
export const assemblePages = (
  { config, release = 'unknown' }: Foundation,
  service: string,
  pages: BuiltPages | undefined,
): Component => ({
  routes: pageRoutes({
    pages,
    service,
    branding: createBranding({
      name: config.portalName ?? service,
      accent: config.portalAccent,
      logo: config.portalLogo,
    }),
    release,
    frameAncestors: config.portalFrameAncestors,
  }),
})

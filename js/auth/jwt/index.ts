/**
 * Authentication by bearer tokens: verifies JSON Web Tokens of one issuer with `jose`, and serves
 * the metadata that names where to get one.
 *
 * @packageDocumentation
 */
export { type JwtAuthorization, type JwtOptions, jwtAuthorizer } from './jwt-authorizer.js';
export {
  createProtectedResourceHandler,
  type ProtectedResourceOptions,
} from './protected-resource.js';

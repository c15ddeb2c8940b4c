/**
 * Callers with bearer tokens: JSON Web Tokens of one issuer, checked with `jose`, and the metadata that tells clients where to get one.
 *
 * @packageDocumentation
 */
export { type JwtAuthorization, type JwtOptions, jwtAuthorizer } from './jwt-authorizer.js';
export { type ProtectedResourceOptions, protectedResource } from './protected-resource.js';

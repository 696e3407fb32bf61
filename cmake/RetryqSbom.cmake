# retryq.spdx.json: what the library and the command are made with, as SPDX 2.3. The packages and their licences are those of
# third_party/README.md; the versions are those that CMake has found here, or Debian 12's where a package does not tell.
set(retryq_sbom ${PROJECT_BINARY_DIR}/retryq.spdx.json)

# Which variable of src/ has the version, for each package.
set(version_of_libevent Libevent_VERSION)
set(version_of_Abseil absl_VERSION)
set(version_of_OpenSSL OPENSSL_VERSION)
set(version_of_CLI11 CLI11_VERSION)
set(version_of_JSON_for_Modern_C++ nlohmann_json_VERSION)
set(version_of_libcurl CURL_VERSION_STRING)
set(version_of_prometheus-cpp prometheus_cpp_VERSION)
set(version_of_opentelemetry-cpp OpenTelemetry_VERSION)

set(packages)
set(relations)
# retryq_add_package(<name> <version> <SPDX licence> <place>)
function(retryq_add_package name version licence place)
  string(REGEX REPLACE "[^A-Za-z0-9.-]" "-" id ${name})
  list(APPEND packages "    {\"name\": \"${name}\", \"SPDXID\": \"SPDXRef-${id}\", \"versionInfo\": \"${version}\",
     \"downloadLocation\": \"${place}\", \"filesAnalyzed\": false, \"licenseConcluded\": \"NOASSERTION\",
     \"licenseDeclared\": \"${licence}\", \"copyrightText\": \"NOASSERTION\"}")
  if(name STREQUAL PROJECT_NAME)
    set(relation "SPDXRef-DOCUMENT\", \"relationshipType\": \"DESCRIBES")
  else()
    set(relation "SPDXRef-${PROJECT_NAME}\", \"relationshipType\": \"DEPENDS_ON")
  endif()
  list(APPEND relations "    {\"spdxElementId\": \"${relation}\", \"relatedSpdxElement\": \"SPDXRef-${id}\"}")
  set(packages "${packages}" PARENT_SCOPE)
  set(relations "${relations}" PARENT_SCOPE)
endfunction()

retryq_add_package(${PROJECT_NAME} ${PROJECT_VERSION} Apache-2.0 NOASSERTION)
file(STRINGS ${PROJECT_SOURCE_DIR}/third_party/README.md rows REGEX "^\\| \\[[^|]*\\|[^|]*\\|[^|]*\\|[^|]*\\|[^|]*(library|command)")
foreach(row IN LISTS rows)
  # | [name](place), more | version | licence | why | used by | …
  string(REGEX MATCH "^\\| \\[([^]]*)\\]\\(([^)]*)\\)[^|]*\\| ([^ ]*) \\| ([^ ]*)" matched "${row}")
  set(name ${CMAKE_MATCH_1})
  set(place ${CMAKE_MATCH_2})
  set(version ${CMAKE_MATCH_3})
  set(licence ${CMAKE_MATCH_4})
  if(name STREQUAL "opentelemetry-cpp" AND NOT RETRYQ_HAS_OTLP)
    continue()
  endif()
  string(REPLACE " " "_" key "${name}")
  set(found)
  if(version_of_${key})
    foreach(directory ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
      get_directory_property(value DIRECTORY ${directory} DEFINITION ${version_of_${key}})
      if(NOT found)
        set(found ${value})
      endif()
    endforeach()
  endif()
  if(found)
    set(version ${found})
  endif()
  retryq_add_package("${name}" "${version}" "${licence}" "${place}")
endforeach()

list(JOIN packages ",\n" packages)
list(JOIN relations ",\n" relations)
string(UUID id NAMESPACE 6ba7b811-9dad-11d1-80b4-00c04fd430c8 NAME "${packages}" TYPE SHA1)
string(TIMESTAMP now UTC)
file(WRITE ${retryq_sbom} "{
  \"spdxVersion\": \"SPDX-2.3\",
  \"dataLicense\": \"CC0-1.0\",
  \"SPDXID\": \"SPDXRef-DOCUMENT\",
  \"name\": \"${PROJECT_NAME}-${PROJECT_VERSION}\",
  \"documentNamespace\": \"https://spdx.org/spdxdocs/${PROJECT_NAME}-${PROJECT_VERSION}-${id}\",
  \"creationInfo\": {\"created\": \"${now}\", \"creators\": [\"Tool: CMake-${CMAKE_VERSION}\"]},
  \"packages\": [
${packages}
  ],
  \"relationships\": [
${relations}
  ]
}
")

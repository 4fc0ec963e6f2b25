# What is installed where, in four components, and Debian packages of them: deploy/package.sh makes these.
#
#   agent      fleetmark-agent      the agent with its reaper and GPU probe
#   plugins    fleetmark-plugins    the benchmark plugins
#   collector  fleetmark-collector  the collector and its page
#   cli        fleetmark            the command line
#
# The version is project()'s. Maintainer scripts, conffiles and overrides are in deploy/packaging/<package>.
include(GNUInstallDirs)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY TRUE)  # packaging builds no tests

install(TARGETS fleetmark-agent fleetmark-launch fleetmark-gpu-probe
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT agent)
install(TARGETS fleetmark-collector RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT collector)
# The collector's own, for the programs that actions call: the agent's package may not be there.
install(TARGETS fleetmark-launch RUNTIME DESTINATION lib/fleetmark/collector COMPONENT collector)
install(TARGETS fleetmark RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cli)
install(FILES ${CMAKE_BINARY_DIR}/man/fleetmark.1.gz DESTINATION share/man/man1 COMPONENT cli)
install(FILES ${CMAKE_BINARY_DIR}/completion/fleetmark DESTINATION share/bash-completion/completions COMPONENT cli)
install(FILES ${CMAKE_BINARY_DIR}/completion/_fleetmark DESTINATION share/zsh/vendor-completions COMPONENT cli)
install(FILES ${CMAKE_BINARY_DIR}/completion/fleetmark.fish DESTINATION share/fish/vendor_completions.d COMPONENT cli)

get_property(plugins GLOBAL PROPERTY FM_PLUGINS)
foreach(plugin IN LISTS plugins)
  if(TARGET fm_plugin_${plugin})
    install(TARGETS fm_plugin_${plugin} RUNTIME DESTINATION lib/fleetmark/plugins/${plugin} COMPONENT plugins)
  endif()
  install(DIRECTORY ${CMAKE_BINARY_DIR}/plugins/${plugin} DESTINATION lib/fleetmark/plugins COMPONENT plugins
          USE_SOURCE_PERMISSIONS FILES_MATCHING PATTERN "*.yaml" PATTERN "*.py" PATTERN "*.sh")
endforeach()

install(FILES configs/agent.yaml DESTINATION /etc/fleetmark COMPONENT agent)
install(FILES configs/suites/default.yaml DESTINATION /etc/fleetmark/suites COMPONENT agent)
install(FILES configs/collector.yaml DESTINATION /etc/fleetmark COMPONENT collector)
if(FM_WEB)
  install(DIRECTORY ${FM_WEB_DIR}/ DESTINATION share/fleetmark/web COMPONENT collector)
endif()
install(DIRECTORY configs/grafana configs/prometheus DESTINATION share/fleetmark COMPONENT collector)
install(DIRECTORY deploy/slurm DESTINATION share/fleetmark COMPONENT agent USE_SOURCE_PERMISSIONS)
install(FILES deploy/systemd/fleetmark-agent.service DESTINATION lib/systemd/system COMPONENT agent)
install(FILES deploy/systemd/fleetmark-collector.service DESTINATION lib/systemd/system COMPONENT collector)
foreach(name agent collector)
  install(FILES deploy/packaging/fleetmark-${name}/sysusers.conf RENAME fleetmark-${name}.conf
          DESTINATION lib/sysusers.d COMPONENT ${name})
  install(FILES deploy/packaging/fleetmark-${name}/tmpfiles.conf RENAME fleetmark-${name}.conf
          DESTINATION lib/tmpfiles.d COMPONENT ${name})
endforeach()

set(FM_PACKAGE_CONTACT "Fleetmark packages <packages@fleetmark.example.org>" CACHE STRING
    "who answers for the packages: a site that makes its own puts its own address here")
set(FM_PACKAGE_agent fleetmark-agent)
set(FM_PACKAGE_plugins fleetmark-plugins)
set(FM_PACKAGE_collector fleetmark-collector)
set(FM_PACKAGE_cli fleetmark)

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL agent plugins collector cli)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_NAME fleetmark)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${FM_PACKAGE_CONTACT})
set(CPACK_PACKAGE_VENDOR Fleetmark)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1 CACHE STRING "the packages' revision")
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_COMPONENT_AGENT_DESCRIPTION "agent that measures this node
Runs benchmark plugins when they are due and the node is free, and streams
the results to a Fleetmark collector.")
set(CPACK_COMPONENT_PLUGINS_DESCRIPTION "benchmark plugins of the Fleetmark agent
Memory bandwidth and latency, floating point, disk, network, and a reader of
other programs' output.")
set(CPACK_COMPONENT_COLLECTOR_DESCRIPTION "collector of a fleet's benchmark results
Takes the results of all agents in, stores them, finds what got slower, and
shows it on a page and to Prometheus and Grafana.")
set(CPACK_COMPONENT_CLI_DESCRIPTION "command line of Fleetmark
Asks a collector how the fleet is, and helps to write plugins.")

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(package ${FM_PACKAGE_${component}})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(folder ${CMAKE_SOURCE_DIR}/deploy/packaging/${package})
  set(control "")
  foreach(script conffiles postinst prerm postrm)
    if(EXISTS ${folder}/${script})
      list(APPEND control ${folder}/${script})
    endif()
  endforeach()
  if(control)
    set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${control}")
  endif()
  install(FILES deploy/packaging/copyright DESTINATION share/doc/${package} COMPONENT ${component})
  if(EXISTS ${folder}/lintian-overrides)
    install(FILES ${folder}/lintian-overrides RENAME ${package} DESTINATION share/lintian/overrides
            COMPONENT ${component})
  endif()
  # Made at packaging, from the version of that moment.
  install(CODE "
    execute_process(COMMAND ${CMAKE_SOURCE_DIR}/deploy/packaging/changelog.sh ${package}
      \"${FM_PACKAGE_CONTACT}\" ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/doc/${package}/changelog.Debian.gz\"
      COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component})
endforeach()
set(CPACK_DEBIAN_AGENT_PACKAGE_DEPENDS "adduser")
set(CPACK_DEBIAN_AGENT_PACKAGE_RECOMMENDS "fleetmark-plugins")
set(CPACK_DEBIAN_AGENT_PACKAGE_SUGGESTS "fleetmark")
set(CPACK_DEBIAN_PLUGINS_PACKAGE_DEPENDS "python3:any")
set(CPACK_DEBIAN_PLUGINS_PACKAGE_RECOMMENDS "fio, iperf3")
set(CPACK_DEBIAN_COLLECTOR_PACKAGE_DEPENDS "adduser")
set(CPACK_DEBIAN_COLLECTOR_PACKAGE_SUGGESTS "fleetmark")
include(CPack)
